// A control that a live update put under the pointer or the focus ignores a press for half a second.
{
  const ui = controlui;
  const { id, on } = ui;
  const CONTROL = 'button, a[href], label, input, textarea, summary';
  const HALT = 500;
  const guarded = new Map(); // control -> when the update came
  let pointer = null;

  const control = (element) => element?.closest?.(CONTROL);
  const under = () => pointer && control(document.elementFromPoint(pointer.x, pointer.y));
  // What a press would do: another question behind the same button is another thing.
  const meaning = (element) => {
    if (!element) return '';
    const { prompt, step } = id('dock')?.contains(element) ? id('dock').dataset : {};
    const text = /TEXTAREA|SUMMARY/.test(element.tagName) ? element.closest('[id]').id : element.textContent;
    const { tagName, name, value, href, ariaLabel } = element;
    return [tagName, name, value, href, ariaLabel, prompt, step, text].join('\n');
  };

  ui.guard = (element, longer = 0) => element && guarded.set(element, performance.now() + longer);
  const isGuarded = (element) => performance.now() - (guarded.get(element) ?? -HALT) < HALT;

  on('pointermove pointerdown', (event) => {
    pointer = event.pointerType === 'touch' ? null : { x: event.clientX, y: event.clientY };
  });
  on('pointerout', ({ target, relatedTarget }) => {
    const from = control(target);
    // Who moves away from it has seen it.
    if (from !== control(relatedTarget) && from !== document.activeElement) guarded.delete(from);
  });

  on('htmx:before:swap', ({ detail: { ctx } }) => {
    if (!ctx.live) {
      ctx.left = /submit|skip/.test(ctx.request?.submitter?.value) ? id('dock')?.dataset.prompt : '';
      return guarded.clear();
    }
    const focused = control(document.activeElement);
    ctx.before = { focused, meaning: meaning(focused), under: meaning(under()) };
  });
  on('htmx:after:swap', ({ detail: { ctx } }) => {
    const next = id('dock')?.dataset.prompt;
    if (ctx.left && next && next !== ctx.left) {
      // The next request stands where the last one was: a second press of Skip or Submit is not meant for it.
      for (const element of [under(), control(document.activeElement)]) ui.guard(element, HALT);
    }
    if (!ctx.before) return;
    const now = under();
    if (now && meaning(now) !== ctx.before.under) ui.guard(now);
    const focused = control(document.activeElement);
    if (focused && focused === ctx.before.focused && meaning(focused) !== ctx.before.meaning) ui.guard(focused);
  });

  // The second half of a double click on Next must not be a Submit that has come into its place.
  let first = '';
  const isOther = ({ detail, target }) => {
    const action = target.closest?.('button')?.value ?? '';
    if (detail < 2) first = action;
    return !!action && action !== first;
  };

  const halt = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
    ui.say(ui.word('justChanged'));
  };
  on('click', (event) => event.isTrusted && (isOther(event) || isGuarded(control(event.target))) && halt(event));
  on('keydown', (event) => {
    if (/^(Enter| |[1-9])$/.test(event.key) && isGuarded(control(event.target) ?? event.target)) {
      if (event.key === 'Enter' || event.target.tagName !== 'TEXTAREA') halt(event);
    }
  });
}
