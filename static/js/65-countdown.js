// Time left, by the server's clock and a clock that nobody can set (bugs case 93). Spoken at 60 s and 10 s only.
{
  const ui = controlui;
  const { id, on } = ui;
  const page = performance.getEntriesByType('navigation')[0]?.responseStart ?? 0;
  let skew = (id('live')?.dataset.now ?? 0) - page; // server's time = performance.now() + skew
  let before = Infinity;
  let of = ''; // the deadline that is counted
  let asks = 0;
  let timer = 0;

  const tick = () => {
    clearTimeout(timer);
    const { expires } = id('dock').dataset;
    const face = id('dock-timer');
    if (expires !== of) [before, asks, of] = [Infinity, 0, expires];
    if (!expires || !face) return;
    const exact = (expires - skew - performance.now()) / 1000;
    const left = Math.max(0, Math.ceil(exact));
    const text = left ? `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')}` : ui.word('ending');
    if (face.textContent !== text) face.textContent = text;
    face.classList.toggle('timer--low', left <= 60);
    for (const mark of [60, 10]) if (before > mark && before < Infinity && left <= mark) ui.say(ui.word('left' + mark));
    before = left;
    if (left) timer = setTimeout(tick, ((exact % 1) + 1) % 1 * 1000 + 5);
    else if (asks < 5) {
      // Only the server says that it is over.
      ui.sync();
      timer = setTimeout(tick, 1000 * 2 ** asks++);
    }
  };

  if (id('live')) {
    on('controlui:clock', ({ detail: now }) => ((skew = now - performance.now()), tick()));
    on('controlui:dock', tick);
    tick();
  }
}
