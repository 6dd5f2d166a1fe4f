// The rows of what is on its way: the focus stays with them, what the agent accepted leaves them, and a change that came
// too late is kept.
{
  const ui = controlui;
  const { id, on } = ui;
  const words = (element) => element?.textContent.replace(/\s+/g, ' ').trim() ?? '';
  const isDropped = () => document.activeElement === document.body || !document.activeElement.checkVisibility();
  const states = () => [...document.querySelectorAll('.delivery-state > [id]')].map((each) => [each.id, words(each)]);
  const focus = (element) => {
    if (!element) return ui.home();
    if (element.tabIndex < 0) element.tabIndex = -1;
    element.focus({ preventScroll: true });
  };

  on('htmx:before:swap', ({ detail: { ctx } }) => {
    const form = document.activeElement.closest('.delivery-actions') ?? ctx.form;
    ctx.actions = form?.matches('.delivery-actions') ? { uid: form.id.slice(4), row: form.closest('li')?.id } : null;
    ctx.states = new Map(states());
    const edits = [...document.querySelectorAll('.delivery-actions textarea')];
    ctx.edits = edits.filter((box) => box.value !== box.defaultValue).map((box) => [box.id, box.value]);
  });

  // A text that was being changed stays in its box; where the box is gone, since the agent has the message now, it is an
  // unsent text.
  const keepEdit = ([name, text]) => {
    if (id(name)) return (id(name).value = text);
    if (!id('composer-text')) return;
    ui.putBack(text);
    ui.notice(ui.word('editKept'), 'edit');
  };

  // Opened, a text is there to be changed.
  on('toggle', ({ target }) => {
    if (!target.matches?.('.edit') || !target.open) return;
    target.querySelector('textarea').focus({ preventScroll: true });
    target.scrollIntoView({ block: 'nearest' });
  });

  const clear = () => {
    const rows = [...document.querySelectorAll('#outbox .delivery[id]')];
    const accepted = rows.filter((row) => id(row.id.replace('delivery', 'message')));
    for (const row of accepted) row.remove();
    if (accepted.length && id('outbox-more')) ui.sync({ force: true });
  };

  on('htmx:after:swap', ({ detail: { ctx } }) => {
    const action = ctx.form?.matches('.delivery-actions') && ctx.request.submitter?.value;
    const done = action && ctx.response.raw.ok;
    clear();
    for (const edit of ctx.edits ?? []) if (!done || edit[0] !== `edited-${ctx.actions.uid}`) keepEdit(edit);
    if (done && action === 'edit') id(`edit-${ctx.actions.uid}`)?.removeAttribute('open');
    // Trouble is said; what goes well is there to be seen.
    for (const [name, text] of states()) {
      const trouble = id(name).closest('[data-status=failed], [data-status=unconfirmed], .summary--submitted');
      if (ctx.live && trouble && ctx.states?.has(name) && ctx.states.get(name) !== text) ui.say(text);
    }
    if (!ctx.actions || !isDropped()) return;
    const { uid, row } = ctx.actions;
    if (action === 'discard') focus(id('composer-text')?.checkVisibility() && id('composer-text'));
    else focus(id(`state-${uid}`) ?? id(`message-${uid}`) ?? id(row));
  });
}
