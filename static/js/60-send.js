// A press in the dock or the composer ends within 10 s: done, or not done with a reason, and one may press again
// (bugs case 43). What is typed stays whatever happens.
{
  const ui = controlui;
  const { id, on } = ui;
  const FORMS = ['dock-form', 'composer'];
  const busy = new Map(); // form id -> what ends the wait

  // A swap that takes the form away names another element as its source: the form is remembered.
  const formOf = (ctx) => (ctx.form ??= FORMS.includes(ctx.sourceElement?.id) ? ctx.sourceElement : null);
  const isOurs = (ctx) => !!formOf(ctx) && ctx.request.method === 'POST';
  const buttons = (form) => [...form.querySelectorAll('button')];
  const messages = () => [...document.querySelectorAll('#timeline .message--person')];
  const textOf = (ctx) => new URLSearchParams(ctx.request.body).get('text').replace(/\r\n/g, '\n');
  let lost = null; // a message that seemed not to be sent
  let offline = ''; // the form of a press that failed for that

  const begin = (form, pressed) => {
    const label = pressed?.textContent;
    for (const button of buttons(form)) button.ariaDisabled = 'true';
    for (const text of form.querySelectorAll('#dock-fields textarea')) text.readOnly = true;
    // Quick ones need no other label.
    const slow = pressed?.matches('.button') && setTimeout(() => (pressed.textContent = ui.word('sending')), 400);
    let free;
    const done = new Promise((resolve) => (free = resolve));
    if (form.id === 'dock-form') [ui.sending, ui.presses] = [done, ui.presses + 1];
    busy.set(form.id, () => {
      clearTimeout(slow);
      busy.delete(form.id);
      if (pressed && pressed.textContent === ui.word('sending')) pressed.textContent = label;
      for (const button of buttons(document)) button.ariaDisabled = null;
      for (const text of document.querySelectorAll('#dock-fields textarea')) text.readOnly = false;
      if (form.id === 'dock-form') [ui.sending, ui.presses] = [null, ui.presses + 1];
      free();
    });
  };

  // The message is saved: its text goes, what was typed since stays.
  const take = (ctx) => {
    const box = id('composer-text');
    const sent = textOf(ctx);
    if (box?.value.startsWith(sent)) box.value = box.value.slice(sent.length);
    lost = null;
  };

  // It was saved, and only its reply never came: its row says so.
  const find = () => {
    const mine = document.querySelector('.account-name').textContent;
    const isIt = (row) =>
      !lost.shown.includes(row.id) &&
      row.querySelector('bdi').textContent === mine &&
      row.querySelector('.as-typed').textContent.trim() === textOf(lost).trim();
    if (!lost || !messages().some(isIt)) return false;
    take(lost);
    id('composer').elements.key.value = ui.tab + Date.now(); // the next one is another message
    ui.savers.composer.touch();
    ui.settled('composer');
    return true;
  };

  // Not done: say why. The form is as it was; its draft is saved as soon as that works.
  const refuse = async (ctx, response) => {
    const form = ctx.form;
    ui.savers[form.id].touch();
    const { status = 0, headers } = response ?? {};
    const body = ctx.text ?? (await response?.text().catch(() => '')) ?? '';
    const { code, message } = /json/.test(headers?.get('Content-Type')) ? JSON.parse(body) : {};
    if (code === 'session_renewed' && !form.retried) {
      form.retried = true; // the token had rotated: once more, with the fresh one (bugs case 72)
      return form.requestSubmit(ctx.request.submitter);
    }
    if (code === 'signed_out' || code === 'other_person') return ui.signIn(code);
    const words = { 0: navigator.onLine ? 'unreachable' : 'offlineSend', 404: 'gone', 413: 'tooLarge', 429: 'tooMany' };
    const said = /plain/.test(headers?.get('Content-Type')) && body.length < 300 && body;
    const wait = headers?.get('Retry-After') ?? '';
    if (form.id === 'composer') lost = ctx;
    if (find()) return;
    offline = !status && !navigator.onLine && form.id;
    ui.notice(message || said || ui.word(words[status] ?? 'serverError', { status, wait }), form.id);
  };

  on('submit', (event) => {
    if (!busy.has(event.target.id)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  });
  on('htmx:config:request', ({ detail: { ctx } }) => {
    if (isOurs(ctx)) ctx.request.timeout = 9000;
  });
  on('htmx:before:request', ({ detail: { ctx } }) => {
    if (!isOurs(ctx)) return;
    ui.savers[ctx.form.id].hold();
    ctx.shown = messages().map((row) => row.id);
    begin(ctx.form, ctx.request.submitter);
  });
  on('htmx:before:response', (event) => {
    const { ctx } = event.detail;
    const { status, raw } = ctx.response;
    if (!isOurs(ctx)) return raw.ok || event.preventDefault(); // an error page is no part of this one
    const page = /html/.test(raw.headers.get('Content-Type')) && !ui.isForeign(raw);
    if (page && (raw.ok || status === 409 || status === 422)) return;
    event.preventDefault();
    refuse(ctx, raw);
  });
  on('htmx:after:request', (event) => {
    const { ctx } = event.detail;
    if (!isOurs(ctx) || /id="(dock|composer)"|<hx-partial/.test(ctx.text)) return;
    event.preventDefault(); // somebody else's page, in between
    refuse(ctx, ctx.response.raw);
  });
  on('htmx:error', ({ detail: { ctx } }) => {
    if (ctx && isOurs(ctx)) refuse(ctx, ctx.response?.raw);
  });
  on('htmx:finally:request', ({ detail: { ctx } }) => {
    if (!isOurs(ctx)) return;
    busy.get(ctx.form.id)?.();
    if (ctx.status === 'swapped') ctx.form.retried = false;
  });

  on('controlui:asked', ({ detail: ok }) => {
    if (!ok || !offline) return;
    if (ui.isSaid(offline)) ui.notice(ui.word('backOnline'), offline);
    offline = '';
  });

  on('htmx:after:swap', ({ detail: { ctx } }) => {
    if (!isOurs(ctx)) return find();
    if (ctx.form.id !== 'composer') return;
    if (ctx.response.raw.ok) take(ctx), ui.toEnd();
    ui.notice('');
  });
}
