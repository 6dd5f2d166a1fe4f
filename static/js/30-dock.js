// What an update may change in the dock: never the form that the person is at (design rules 4 and 5).
{
  const ui = controlui;
  const { id, on } = ui;
  const VIEW = ['prompt', 'step', 'folded', 'quiet'];
  let composedAt = -Infinity;
  let missed = false; // a newer draft came while the person was in the form,
  let told = false; // and the page has said so

  const controls = (within) => [...(within?.querySelectorAll('input:not([type=hidden]), textarea') ?? [])];
  const hidden = (within) => [...within.querySelectorAll('#dock-form input[type=hidden]')];
  const isFilled = (control) => (/radio|checkbox/.test(control.type) ? control.checked : /\S/.test(control.value));
  const isFree = (element) => !element || !id('dock').contains(element);
  const options = () => id('dock').querySelector('[data-options]');
  const composed = () => /\S/.test(id('composer-text')?.value ?? '');

  // Anything in the open question, typed or ticked, that was not sent.
  const isDrafted = () => controls(id('dock')).some(isFilled);
  ui.isEdited = () => isDrafted() || composed() || ui.waits();
  ui.isAtDock = () => !isFree(document.activeElement) || isDrafted();
  ui.composerIsBusy = () => composed() || performance.now() - composedAt < 3000;
  ui.composerIsTaken = () => ui.composerIsBusy() || document.activeElement === id('composer-text');
  on('keydown', ({ target }) => target.id === 'composer-text' && (composedAt = performance.now()));

  // The view that this tab asks for: its address, or what it shows while the person is at it.
  ui.view = () => {
    const here = new URLSearchParams(location.search);
    const { dataset } = id('dock');
    const stay = dataset.prompt && ui.isAtDock();
    const view = new URLSearchParams();
    for (const name of VIEW) {
      const value = stay ? dataset[name] : here.get(name);
      if (value) view.set(name, value);
    }
    return view;
  };

  // Since then the person has pressed, or begun to write or to answer: what was drawn for before is drawn anew.
  ui.presses = 0; // each counts when it begins and when it ends
  ui.moment = () => ({ view: `${ui.view()}`, presses: ui.presses });

  const writeAddress = ({ prompt, step, folded, quiet }) => {
    const url = new URL(location);
    for (const name of VIEW) url.searchParams.delete(name);
    if (prompt) url.searchParams.set('prompt', prompt);
    if (prompt && step > 1) url.searchParams.set('step', step);
    if (prompt && folded) url.searchParams.set('folded', 1);
    if (prompt && quiet) url.searchParams.set('quiet', 1);
    if (url.href !== location.href) history.replaceState(history.state, '', url);
  };

  const forget = () => (ui.settled('newer'), (told = false));

  // The form keeps its fields, the revision they began from, and what it knows of the other questions.
  const keep = (fresh) => {
    id('dock-fields').setAttribute('hx-morph-skip', '');
    const newer = fresh.dataset.revision !== id('dock').dataset.revision;
    missed = newer;
    if (!newer) forget();
    // While a save is under way, the newer one may be our own.
    else if (!told && !ui.isUnsaved()) ui.notice(ui.word('newerElsewhere'), 'newer'), (told = true);
    fresh.dataset.revision = id('dock').dataset.revision;
    const theirs = hidden(fresh);
    theirs[0].before(...hidden(id('dock')).map((field) => field.cloneNode()));
    for (const field of theirs) field.remove();
  };

  on('htmx:before:swap', ({ detail: { ctx, tasks } }) => {
    const task = tasks.find((each) => each.target?.id === 'dock');
    const fresh = task?.fragment.querySelector('#dock');
    if (!fresh) return;
    const focus = document.activeElement;
    const was = (ctx.was = { ...id('dock').dataset, focus, inside: !isFree(focus), top: options()?.scrollTop });
    was.pending = [...document.querySelectorAll('#timeline [data-status=pending]')].map((row) => row.id);
    const same = VIEW.slice(0, 3).every((name) => (was[name] ?? '') === (fresh.dataset[name] ?? ''));
    was.kept = ctx.live && same && !!id('dock-fields') && (id('dock-fields').contains(focus) || ui.isUnsaved());
    if (was.kept) keep(fresh);
  });

  on('htmx:after:swap', ({ detail: { ctx } }) => {
    const { was } = ctx;
    if (!was) return;
    const now = id('dock').dataset;
    id('dock-fields')?.removeAttribute('hx-morph-skip');
    if (!was.kept) {
      missed = false;
      forget();
      // A control once touched no longer follows its attributes: what the server says is put in by hand.
      for (const control of controls(id('dock'))) {
        if ('defaultChecked' in control && control.type !== 'textarea') control.checked = control.defaultChecked;
        if (control.type === 'textarea' && control.value !== control.defaultValue) control.value = control.defaultValue;
      }
    }
    const same = was.prompt === now.prompt && was.step === now.step;
    if (options()) options().scrollTop = same ? was.top : 0;
    if (ctx.live && (new URLSearchParams(location.search).has('prompt') || now.folded || now.quiet)) writeAddress(now);
    ui.emit('dock', { was, now, same, live: ctx.live, sent: ctx.request });
  });

  // The form is free again: now it takes what it did not take while the person was in it.
  on('focusout', ({ target, relatedTarget }) => {
    const fields = id('dock-fields');
    if (!missed || !fields?.contains(target) || fields.contains(relatedTarget)) return;
    ui.flush().then(() => ui.sync({ force: true }));
  });
}
