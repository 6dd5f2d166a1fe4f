// Which request comes to the front is the tab's decision (design rule 5), and each is left and found as it was.
{
  const ui = controlui;
  const { id, on } = ui;
  const met = new Set(); // blocking requests that have stood in front here, or that the person has passed by
  const spots = new Map(); // prompt and step -> where its options and its text were left
  const blocking = ({ blocking = '' }) => blocking.split(' ').filter(Boolean);
  const text = () => id('dock').querySelector('#dock-fields textarea');
  const spot = ({ prompt, step }) => `${prompt} ${step}`;

  // What the tab would rather have drawn: a view; null for its own as it is by now; undefined where this is right.
  ui.rather = async (asked, next) => {
    const now = id('dock').dataset;
    await ui.sending; // what becomes of a press is for its own reply to say
    if (asked.presses !== ui.presses) return null;
    // A reminder that was folded is so again once the blocking request has gone.
    const quiet = now.quiet || (now.mode === 'async' && now.folded) ? { quiet: 1 } : {};
    const folded = ui.composerIsBusy() ? { folded: 1 } : {};
    const first = next.mode === 'async' && blocking(next).find((uid) => !met.has(uid));
    if (first && (now.folded || !ui.isAtDock())) return { prompt: first, ...quiet, ...folded };
    if (next.covers && !now.covers && folded.folded) return { prompt: next.prompt, ...quiet, ...folded };
    const comes = next.mode === 'async' && !next.folded && !now.prompt;
    if (comes && ui.composerIsTaken()) return { prompt: next.prompt, folded: 1 };
    return next.prompt !== now.prompt && asked.view !== `${ui.view()}` ? null : undefined;
  };

  // A reminder that comes up after a press comes folded too where somebody has begun a message.
  let open = false; // one stood open here
  on('formdata', ({ target, formData }) => {
    if (target.id === 'dock-form' && !open && ui.composerIsTaken()) formData.set('quiet', 1);
  });

  const know = (now, passed) => {
    if (now.prompt) met.add(now.prompt);
    if (passed) for (const uid of blocking(now)) met.add(uid);
    if (now.mode === 'async') open = !now.folded;
  };

  on('htmx:before:swap', () => {
    const { prompt, step, folded } = id('dock')?.dataset ?? {};
    const box = prompt && !folded && text();
    if (!box) return;
    const { scrollTop } = id('dock').querySelector('[data-options]');
    spots.set(spot({ prompt, step }), [scrollTop, box.selectionStart, box.selectionEnd, box.scrollTop]);
  });
  on('controlui:dock', ({ detail: { now, same, sent } }) => {
    know(now, /-request$/.test(sent?.submitter?.value));
    const left = !same && !now.folded && spots.get(spot(now));
    if (!left || !text()) return;
    const [top, start, end, inner] = left;
    text().setSelectionRange(start, end);
    text().scrollTop = inner;
    id('dock').querySelector('[data-options]').scrollTop = top;
  });
  if (id('dock')) know(id('dock').dataset, true);
}
