// After the dock has changed: say what came or ended, once, and put the focus where it belongs (design section 6).
{
  const ui = controlui;
  const { id, on } = ui;
  const heard = new Set([id('dock')?.dataset.prompt]); // prompts announced, or there at load
  const words = (element) => element?.textContent.replace(/\s+/g, ' ').trim() ?? '';
  const focus = (element) => element?.focus({ preventScroll: true });
  const isDropped = () => document.activeElement === document.body || !document.activeElement.checkVisibility();

  // Rows that were waiting before, and say now how they ended; in sight where the panel that the person was at is gone.
  const sayEnded = (was, isSeen = () => false) => {
    const rows = was.pending.map(id).filter((row) => row && row.dataset.status !== 'pending');
    for (const row of rows) {
      const kept = !!row.querySelector('.leftover');
      const word = row.dataset.status === 'submitted' ? 'answerGoes' : kept ? 'endedKept' : 'ended';
      const text = ui.word(word, { outcome: words(row.querySelector('.delivery-state > p, .summary-head')) });
      if (row.dataset.about === was.prompt && isSeen(row, kept)) ui.notice(text, 'ended');
      else ui.say(text);
    }
    return rows;
  };

  // After a live update.
  const arrive = (was, now) => {
    // A press whose reply never came, or came too late, has been done all the same.
    const done = (was.prompt !== now.prompt || was.expires !== now.expires) && ui.settled('dock-form');
    const isOwn = (row) => done && /answered|submitted|skipped/.test(row.dataset.status);
    const ended = sayEnded(was, (row, kept) => kept || (was.inside && !isOwn(row)));
    const question = words(id('dock').querySelector('#dock-question, .bar-question'));
    if (now.prompt && !heard.has(now.prompt)) ui.say(ui.word('arrived', { question }));
    else if (+now.requests > +was.requests) ui.say(ui.word('another', { number: now.requests }));
    heard.add(now.prompt);
    if (was.kept || !isDropped() || !(was.inside || (was.focus.id === 'composer-text' && now.covers))) return;
    // Never onto an option; and who was typing an answer must not find themselves typing a message.
    const row = was.focus.tagName === 'TEXTAREA' && ended[0];
    if (row) row.tabIndex = -1;
    focus(now.covers ? id('dock-question') : row || id('composer-text') || id('dock-fold'));
    ui.guard(document.activeElement);
  };

  // After the person's own press.
  const settle = (was, now, same, pressed) => {
    ui.notice('');
    const notice = id('dock').querySelector('#dock-notice .notice:not(.notice--choice)');
    const error = id('dock').querySelector('.error');
    if (notice) {
      // The next live update draws the dock without it.
      ui.notice(words(notice), 'ended');
      if (!notice.nextElementSibling) notice.parentElement.remove();
      else notice.remove();
      id('dock').hidden = !now.prompt;
    } else if (error) ui.say(words(error));
    else if (!id('undo')) sayEnded(was);
    if (pressed === 'more-time') ui.say(words(id('dock-limit')));
    if (document.activeElement.matches('.error')) return; // what is wrong has taken the focus
    // A reminder that has come up by itself takes no focus from the composer, which is usable again.
    const writes = !now.prompt || (/submit|skip/.test(pressed) && !now.covers && (was.covers || now.folded));
    if (!same && writes) id('composer-text') ? focus(id('composer-text')) : ui.home();
    else if (!same && !now.folded) focus(id('dock-question'));
    else if (isDropped()) focus(id('dock-fold'));
    heard.add(now.prompt);
  };

  on('controlui:dock', ({ detail: { was, now, same, live, sent } }) =>
    live ? arrive(was, now) : settle(was, now, same, sent?.submitter?.value),
  );
}
