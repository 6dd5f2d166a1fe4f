// Undo of a Skip stands in the dock for ten seconds, whatever comes meanwhile; Answer in the timeline stays.
{
  const ui = controlui;
  const { id, on } = ui;
  let uid = '';
  let until = 0;
  let timer = 0;

  // What forms and fetches carry, so that the server draws it again.
  ui.undoable = () => (performance.now() < until ? uid : '');
  on('formdata', ({ formData }) => ui.undoable() && formData.set('undo', uid));

  const end = () => {
    until = 0;
    const box = id('undo');
    if (!box) return;
    const within = box.contains(document.activeElement);
    const notices = box.parentElement;
    box.remove();
    if (!notices.children.length) notices.remove();
    id('dock').hidden = !id('dock').dataset.prompt && !id('dock-notice');
    if (within) ui.home();
  };

  const look = () => {
    const box = id('undo');
    const found = box?.querySelector('button').value;
    if (!box) until = 0; // undone
    if (!box || (found === uid && until)) return;
    uid = found;
    until = performance.now() + 1000 * box.dataset.seconds;
    clearTimeout(timer);
    timer = setTimeout(end, 1000 * box.dataset.seconds);
    ui.say(box.textContent.replace(/\s+/g, ' ').trim());
  };
  on('controlui:dock', look);
  look();
}
