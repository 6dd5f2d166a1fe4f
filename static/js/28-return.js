// When the person comes back to the page, and when the page is no longer theirs.
{
  const ui = controlui;
  const { id, on } = ui;
  // Without typed text the page goes; with it, it says what has happened and keeps the text (bugs cases 71, 72).
  ui.leave = (status) => {
    const fresh = performance.getEntriesByType('navigation')[0]?.type === 'reload' && performance.now() < 10000;
    if (!fresh && (document.body.inert || !ui.isEdited())) return location.reload();
    ui.sleep();
    if (status === 404) ui.notice(ui.word('gone'), 'session');
    else ui.signIn();
  };

  // A page out of the back/forward cache may be another person's by now: it shows nothing and does nothing
  // until the server has spoken (bugs case 35).
  let asked = true; // since it was covered
  let told = false; // before the fetch under way, that the page is no longer theirs
  const cover = (covered) => {
    asked = !covered;
    document.body.inert = covered;
    document.body.style.visibility = covered ? 'hidden' : '';
  };

  if (id('live')) {
    id('connection').style.visibility = 'visible'; // also then
    on('pagehide', ({ persisted }) => persisted && cover(true), window);
    on('pageshow', ({ persisted }) => persisted && (cover(true), ui.wake()), window);
    on('online', ui.wake, window);
    on('visibilitychange', () => document.hidden || ui.wake());
    on('controlui:asking', () => ([asked, told] = [true, ui.isSaid('session')]));
    on('controlui:asked', ({ detail: ok }) => {
      if (!ok) return;
      if (asked) cover(false);
      if (told) ui.settled('session');
    });
  }
}
