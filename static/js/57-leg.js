// What was pressed without a connection waits in this tab's memory and goes out by itself: once, in order, under the
// key that its form was drawn with, so that a press whose reply was lost is no second message (bugs case 84).
{
  const ui = controlui;
  const { on } = ui;
  const waiting = []; // the oldest first: { url, body, prompt } of an answer, { url, body, mark, giveBack } of a message
  let busy = false;
  let due = 0;
  let failures = 0;
  let timer = 0;
  let lost = false; // the line

  ui.waits = () => waiting.length > 0;
  ui.heldAnswer = () => waiting.find((item) => item.prompt);
  ui.hold = (item) => waiting.push(item) === 1 && later();
  ui.drop = (item) => {
    const at = waiting.indexOf(item);
    if (at >= 0) waiting.splice(at, 1);
    item.mark?.('gone');
  };
  // Now, and not at the end of a pause.
  ui.hurry = () => ((due = 0), ui.sync());

  const part = (html, selector) => new DOMParser().parseFromString(html, 'text/html').querySelector(selector);
  const words = (html, selector) => part(html, selector)?.textContent.replace(/\s+/g, ' ').trim();

  // One try; whether it is settled, one way or the other.
  const send = async (item, again = true) => {
    let response, html;
    item.body.delete('csrfmiddlewaretoken'); // the header has the present one
    try {
      response = await ui.post(item.url, item.body, { headers: { 'HX-Request': 'true', Accept: 'text/html' } });
      html = await response.text();
    } catch {
      return false;
    }
    const { status } = response;
    const { code, message } = /json/.test(response.headers.get('Content-Type')) ? JSON.parse(html) : {};
    if (code === 'session_renewed' && again) return send(item, false);
    if (/signed_out|other_person/.test(code)) return ui.signIn(code), false;
    if (status === 429 || status > 499 || (response.ok && !/id="(composer|dock)"/.test(html))) return false;
    if (item.prompt) {
      ui.drop(item); // its notice goes with the panel, by which one knows that this was one's own press
      const said = words(html, '#dock-notice .notice, .error');
      if (!response.ok) ui.notice(said || message || ui.word('serverError', { status }), 'ended');
    } else if (response.ok) ui.drop(item);
    else {
      item.giveBack();
      ui.notice(words(html, '#composer-error') || message || html.slice(0, 300), 'composer');
    }
    return !waiting.includes(item);
  };

  const later = () => {
    const pause = Math.min(30000, 500 * 2 ** failures++);
    due = performance.now() + pause;
    clearTimeout(timer);
    timer = setTimeout(ui.sync, pause);
  };
  const goOn = async () => {
    if (busy || !waiting.length || performance.now() < due) return;
    busy = true;
    let done = 0;
    for (let item = waiting[0]; item; item = waiting[0]) {
      item.mark?.('sending');
      if (!(await send(item))) {
        item.mark?.('waiting');
        break;
      }
      done += 1;
    }
    busy = false;
    if (done) {
      failures = 0;
      ui.say(ui.word('wentOut'));
      ui.sync({ force: true }).then(() => ui.heldAnswer() || ui.settled('dock-form'));
    }
    if (waiting.length) later();
  };
  on('controlui:asked', ({ detail: ok }) => {
    if (ok && lost) due = failures = 0;
    lost = !ok;
    if (ok) goOn();
  });
  on('online', () => (due = failures = 0), window);
  on('beforeunload', (event) => waiting.length && event.preventDefault(), window);
}
