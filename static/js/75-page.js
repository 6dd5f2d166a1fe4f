// "Check for new questions" without a reload, the skip link, and the room that a phone's keyboard leaves.
{
  const ui = controlui;

  ui.on('click', (event) => {
    if (!event.target.closest?.('[data-action=check]') || !ui.id('live')) return;
    event.preventDefault();
    ui.flush().then(() => ui.sync({ force: true }));
  });

  // The question may have come or gone since the page was drawn.
  ui.on('click', (event) => {
    if (!event.target.matches?.('.skip-link')) return;
    event.preventDefault();
    ui.home();
  });

  // Where the keyboard covers the page instead of making it smaller, the page makes itself smaller (bugs case 103).
  const view = window.visualViewport;
  view?.addEventListener('resize', () => {
    const covered = view.scale === 1 && innerHeight - view.height > 80;
    document.body.style.blockSize = covered ? `${view.height}px` : '';
    if (covered) scrollTo(0, 0);
  });
}
