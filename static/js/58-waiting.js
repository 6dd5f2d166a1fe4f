// How it looks that something waits to be sent: a message at the end of the timeline, an answer in its panel. Both can be
// taken back.
{
  const ui = controlui;
  const { id, on } = ui;
  const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(36)).join('');
  const textOf = (body) => body.get('text').replace(/\r\n/g, '\n');

  // The text leaves the box; the next one is another message.
  ui.holdMessage = (url, body) => {
    const row = id('unsent-row').content.firstElementChild.cloneNode(true);
    const box = id('composer-text');
    const button = row.querySelector('button');
    const item = { url, body };
    item.mark = (state) => {
      button.ariaDisabled = state === 'sending' ? 'true' : null;
      if (state !== 'gone') return;
      const within = row.contains(document.activeElement);
      row.remove();
      if (within) ui.home();
    };
    // It is unsent text again, under its key: should it have arrived after all, the same text is the same message.
    item.giveBack = () => {
      if (!id('composer-text')) return;
      ui.drop(item);
      ui.putBack(textOf(body));
      id('composer').elements.key.value = body.get('key');
    };
    row.querySelector('.as-typed').textContent = textOf(body);
    button.onclick = () => button.ariaDisabled || (item.giveBack(), ui.home());
    id('unsent').append(row);
    if (box.value.startsWith(textOf(body))) box.value = box.value.slice(textOf(body).length);
    box.form.elements.key.value = newKey();
    ui.hold(item);
    ui.toEnd();
    ui.say(ui.word(navigator.onLine ? 'messageWaits' : 'messageWaitsOffline'));
  };

  // Before what stands in the message box, whose caret stays.
  ui.putBack = (text) => {
    const box = id('composer-text');
    box.setRangeText(text + (/\S/.test(box.value) ? '\n\n' : ''), 0, 0, 'preserve');
    ui.savers.composer.touch();
  };

  ui.holdAnswer = (url, body) => {
    const discard = Object.assign(document.createElement('button'), { type: 'button', className: 'quiet-button' });
    discard.textContent = ui.word('discard');
    discard.onclick = () => (releaseAnswer(), ui.home());
    releaseAnswer();
    ui.hold({ url, body, prompt: body.get('prompt') });
    ui.notice(ui.word(navigator.onLine ? 'answerWaits' : 'answerWaitsOffline'), 'dock-form', discard);
  };
  const releaseAnswer = () => {
    const item = ui.heldAnswer();
    if (!item) return;
    ui.drop(item);
    ui.settled('dock-form');
    // Whatever is sent next is another press.
    const form = id('dock-form');
    if (form?.elements.prompt.value === item.prompt) form.elements.resolution_id.value = newKey();
  };

  // Behind what waits there is no overtaking; pressed once more, it is tried at once.
  on('submit', (event) => {
    const { target: form, submitter } = event;
    const answers = form.id === 'dock-form' && submitter?.value === 'submit' && ui.heldAnswer();
    const writes = form.id === 'composer' && !submitter?.value && ui.waits() && /\S/.test(id('composer-text').value);
    if (!answers && !writes) return form.id === 'dock-form' && submitter?.value === 'skip' && releaseAnswer();
    event.preventDefault();
    event.stopImmediatePropagation();
    if (writes) ui.holdMessage(form.getAttribute('hx-post'), new URLSearchParams(new FormData(form)));
    ui.hurry();
  });
  // Who changes the answer takes it back first.
  on('input', ({ target }) => {
    if (!target.closest?.('#dock-fields') || !ui.heldAnswer()) return;
    releaseAnswer();
    ui.say(ui.word('takenBack'));
  });
}
