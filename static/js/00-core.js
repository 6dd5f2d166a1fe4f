// What the other files share, as window.controlui. All files become one app.js, each in a block of its own.
{
  const ui = (window.controlui = {});
  const id = (ui.id = (name) => document.getElementById(name));

  // One word for this load of the page: the server tells apart the tabs of one person by it.
  ui.tab = Math.random().toString(36).slice(2, 12) + Date.now().toString(36);

  // Listens on the way down, so before htmx and before the controls.
  ui.on = (names, handler, target = document) => {
    for (const name of names.split(' ')) target.addEventListener(name, handler, true);
  };
  ui.emit = (name, detail) => document.dispatchEvent(new CustomEvent('controlui:' + name, { detail }));

  // Words come from the page, in its language: <div id="words" data-offline="…">.
  ui.word = (key, values = {}) =>
    (id('words')?.dataset[key] ?? '').replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '');

  // The live region that is there at load. One text at a time, so that a second does not swallow the first.
  const queue = [];
  let speaking = 0;
  const speak = () => {
    speaking = queue.length ? setTimeout(speak, 1000) : 0;
    if (speaking) id('status').textContent = queue.shift();
  };
  ui.say = (text) => {
    if (!text || !id('status') || queue.includes(text)) return;
    queue.push(text);
    if (!speaking) speak();
  };

  // A message with a reason, beside the form it belongs to. It outlives live updates of the dock, until the person
  // puts it away or `kind` is settled: a form's id for a press that failed, or what else it is about.
  // Another `control` may stand in the place of the button that puts it away.
  ui.notice = (text, kind = '', control = null) => {
    let box = id('notice');
    if (!box) {
      if (!text) return;
      box = document.createElement('div');
      box.id = box.className = 'notice';
    }
    const words = document.createElement('p');
    words.textContent = text + ' ';
    if (control?.href) words.append(control);
    const close = document.createElement('button');
    Object.assign(close, { type: 'button', className: 'icon-button', textContent: '✕', ariaLabel: ui.word('close') });
    close.onclick = () => (ui.notice(''), ui.home());
    box.replaceChildren(words, control && !control.href ? control : close);
    box.dataset.kind = kind;
    box.hidden = !text;
    // What has ended stands before what comes next.
    if (text) id('dock')[kind === 'ended' ? 'before' : 'after'](box);
    ui.say(text);
  };
  ui.isSaid = (kind) => !!id('notice') && !id('notice').hidden && id('notice').dataset.kind === kind;
  ui.settled = (kind) => ui.isSaid(kind) && (ui.notice(''), true);

  // Where answering or writing begins: the question, the bar it is folded to, the message box.
  ui.home = () => {
    const places = ['dock-question', 'dock-fold', 'composer-text', 'composer', 'foot'].map(id);
    const place = places.find((each) => each?.checkVisibility());
    if (place.tabIndex < 0) place.tabIndex = -1;
    place.focus();
  };

  // Signing in again elsewhere rotates the token: each request takes it fresh from the cookie (bugs case 72).
  const token = () => document.cookie.match(/(?:^|; )controlui_csrf=([^;]+)/)?.[1];
  const NAME = 'csrfmiddlewaretoken';
  ui.on('formdata', ({ formData }) => {
    if (token() && formData.has(NAME)) formData.set(NAME, token());
  });
  ui.on('htmx:config:request', ({ detail: { ctx } }) => {
    if (token()) ctx.request.headers['X-CSRFToken'] = token();
  });

  // A request of our own: never longer than 10 s.
  ui.fetch = (url, options = {}) =>
    fetch(url, { cache: 'no-store', signal: AbortSignal.timeout(10000), ...options });
  ui.post = (url, body, { headers, ...options } = {}) => {
    headers = { 'X-CSRFToken': token() ?? '', Accept: 'application/json', ...headers };
    return ui.fetch(url, { method: 'POST', body, headers, ...options });
  };

  // Signed out, another person signed in, or a right withdrawn: the page is no longer this person's.
  ui.isForeign = (response) => response.status === 401 || response.status === 403 || /\/sign-in\//.test(response.url);
  ui.signIn = (code = 'signed_out') => {
    const back = encodeURIComponent(location.pathname + location.search);
    const link = { href: `/sign-in/?next=${back}`, textContent: ui.word('signIn') };
    ui.notice(ui.word(code), 'session', Object.assign(document.createElement('a'), link));
  };
}
