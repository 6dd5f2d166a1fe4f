// What waits anywhere, in the title and in the icon.
{
  const { id, on } = controlui;
  on('controlui:live', () => {
    const { waiting } = id('live').dataset;
    const icon = id('favicon').dataset;
    document.title = (+waiting ? `(${waiting}) ` : '') + document.title.replace(/^\(\d+\) /, '');
    id('menu-badge').textContent = waiting;
    id('menu-badge').hidden = !+waiting;
    id('favicon').href = +waiting ? icon.badge : icon.plain;
  });
}
