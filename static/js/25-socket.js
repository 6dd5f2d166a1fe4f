// The socket is a speed-up: when to open it, when to fetch without it, and what the page says about its line.
{
  const ui = controlui;
  const { id, on } = ui;
  const POLL = 5000; // without a socket
  const CHECK = 20000; // even with a healthy one
  const QUIET = 5000; // a shorter gap is not worth a word
  let line; // the element that hx-ws hangs the socket on: #live itself is replaced by fetches
  let open = false;
  let openedAt = 0;
  let joined; // the streams that the socket's ticket names
  let failures = 0;
  let retryAt = 0;
  let reached = true;
  let away = false; // signed out or shut out: only the person's return asks again
  let timer = 0;
  let quiet = 0;

  const say = (key) => {
    clearTimeout(quiet);
    quiet = 0;
    id('connection').textContent = ui.word(key);
    id('connection').hidden = !key;
  };
  const sayLost = () => say(navigator.onLine ? 'reconnecting' : 'offline');

  const backOff = () => {
    retryAt = performance.now() + Math.min(30000, 500 * 2 ** failures++) * (0.75 + Math.random() / 2);
  };

  // One element for all sockets: processing it anew closes the old one.
  const hang = (url) => {
    open = false;
    url ? line.setAttribute('hx-ws:connect', url) : line.removeAttribute('hx-ws:connect');
    htmx.process(line, true);
  };
  const streams = () => id('live').dataset.streams.replace(/:\d+/g, '');
  const connect = () => {
    retryAt = performance.now() + 10000; // a handshake that hangs is given up then
    joined = streams();
    hang(id('live').dataset.socket);
  };

  const plan = () => {
    clearTimeout(timer);
    const retry = Math.max(retryAt - performance.now(), 0);
    if (!away) timer = setTimeout(tick, open ? CHECK : reached ? Math.min(POLL, retry) : retry);
  };

  const tick = async () => {
    clearTimeout(timer);
    const wanted = !open && performance.now() >= retryAt;
    // A ticket lives for a minute: a fetch before each socket brings a fresh one, and says who may have it.
    reached = await ui.sync({ force: wanted });
    if (!reached) {
      if (open) hang(''); // half open: the fetch is the truth (bugs case 33)
      backOff();
    } else if (wanted && !open && performance.now() >= retryAt) connect();
    document.body.dataset.line = open && reached ? 'open' : 'polling';
    plan();
  };

  // The person is back, or the network is: at once, and with all patience again.
  ui.wake = () => {
    failures = 0;
    away = false;
    if (!open) retryAt = 0;
    return tick();
  };
  ui.sleep = () => {
    away = true;
    hang('');
    say('');
    clearTimeout(timer);
  };

  if (id('live')) {
    line = document.createElement('div');
    line.hidden = true;
    document.body.append(line);
    htmx.config.ws = { ...htmx.config.ws, reconnect: false, pauseOnBackground: false };

    on('htmx:ws:after:connection', () => {
      open = true;
      openedAt = performance.now();
      tick(); // what happened between the drawing of the page and now (bugs case 30)
    });
    on('htmx:ws:close', ({ detail }) => {
      if (detail.reason === 'removed') return;
      if (open && performance.now() - openedAt > 5000) failures = 0;
      open = false;
      backOff();
      plan();
    });
    on('htmx:ws:before:message:incoming', (event) => {
      event.preventDefault();
      ui.receive(JSON.parse(event.detail.message.data));
    });
    on('controlui:asking', () => (quiet ||= setTimeout(sayLost, QUIET)));
    on('controlui:asked', ({ detail: ok }) => ok && say(''));
    // A stream that is new, or no longer ours, is for a new ticket; this fetch has brought it.
    on('controlui:live', () => open && joined !== streams() && connect());
    on('offline', sayLost, window);

    connect();
    timer = setTimeout(tick, 1000);
  }
}
