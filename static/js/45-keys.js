// Keys in the dock and the composer. Arrows, Space and Tab are the browser's own, as are all keys elsewhere.
{
  const ui = controlui;
  const { id, on } = ui;
  let composedAt = -1000;
  on('compositionend', ({ timeStamp }) => (composedAt = timeStamp));

  // Enter and Esc belong to the input method while it converts; Safari tells of the key just after (bugs case 97).
  const isComposing = (event) =>
    event.isComposing || event.keyCode === 229 || (event.key === 'Enter' && event.timeStamp - composedAt < 10);

  const press = (event, selector) => {
    const button = id('dock').querySelector(selector);
    if (!button) return;
    event.preventDefault();
    button.click();
  };

  const inDock = (event) => {
    const { key, target } = event;
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
    if (key === 'Escape' && plain) press(event, '[data-action=fold]');
    else if (key === 'Enter' && (event.ctrlKey || event.metaKey)) press(event, '#dock-go'); // wherever one is in it
    else if (plain && /^[1-9]$/.test(key) && target.matches('[data-options] input')) {
      const list = target.closest('[data-options]');
      const place = [...list.querySelectorAll('input, textarea')][key - 1];
      if (!place) return;
      event.preventDefault();
      place.focus();
      if (place.type !== 'textarea') place.click();
    }
  };

  const inComposer = (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.altKey) return;
    // On a touch keyboard there is no Shift+Enter at hand: Enter is a new line there.
    if (matchMedia('(pointer: coarse)').matches && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const { form, value } = event.target;
    if (/\S/.test(value)) form.requestSubmit(form.querySelector('[data-action=send]'));
  };

  on('keydown', (event) => {
    if (isComposing(event)) return;
    if (id('dock')?.contains(event.target)) inDock(event);
    else if (event.target.id === 'composer-text') inComposer(event);
  });
}
