// A press in the dock, the composer or the outbox ends within 10 s: done, or not done with a reason, and one may press
// again (bugs case 43). What is typed stays whatever happens.
{
  const ui = controlui;
  const { id, on } = ui;
  const FORMS = '#dock-form, #composer, #reopen, .delivery-actions';
  const busy = new Map(); // form id -> what ends the wait

  // A swap that takes the form away names another element as its source: the form is remembered.
  const formOf = (ctx) => (ctx.form ??= ctx.sourceElement?.matches?.(FORMS) ? ctx.sourceElement : null);
  const isOurs = (ctx) => !!formOf(ctx) && ctx.request.method === 'POST';
  const isButton = (element) => element.tagName === 'BUTTON';
  const buttons = (form) => [...form.elements].filter(isButton);
  const textOf = (ctx) => new URLSearchParams(ctx.request.body).get('text').replace(/\r\n/g, '\n');
  let offline = ''; // the form of a press that failed for that

  const begin = (form, pressed) => {
    const label = pressed?.textContent;
    for (const button of buttons(form)) button.ariaDisabled = 'true';
    for (const text of form.querySelectorAll('#dock-fields textarea')) text.readOnly = true;
    // Quick ones need no other label.
    const relabel = () => (pressed.textContent = ui.word('sending'));
    const slow = pressed?.matches('.button, .delivery-actions *') && setTimeout(relabel, 400);
    let free;
    const done = new Promise((resolve) => (free = resolve));
    const ofDock = form.id !== 'composer';
    if (ofDock) [ui.sending, ui.presses] = [done, ui.presses + 1];
    busy.set(form.id, () => {
      clearTimeout(slow);
      busy.delete(form.id);
      if (pressed && pressed.textContent === ui.word('sending')) pressed.textContent = label;
      for (const button of buttons(id(form.id) ?? form)) button.ariaDisabled = null;
      for (const text of document.querySelectorAll('#dock-fields textarea')) text.readOnly = false;
      if (ofDock) [ui.sending, ui.presses] = [null, ui.presses + 1];
      free();
    });
  };

  // The message is saved: its text goes, what was typed since stays.
  const take = (ctx) => {
    const box = id('composer-text');
    const sent = textOf(ctx);
    if (box?.value.startsWith(sent)) box.value = box.value.slice(sent.length);
  };

  // Not done: say why. The form is as it was; its draft is saved as soon as that works.
  const refuse = async (ctx, response) => {
    const form = ctx.form;
    const { url, body: given, kind } = ctx.leg;
    if (!response && kind === 'message') return ui.holdMessage(url, given);
    ui.savers[form.id]?.touch();
    if (!response && kind === 'answer') return ui.holdAnswer(url, given);
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
  // What waits for the connection where there is none: the message, the answer; nothing else is done later by itself.
  const kindOf = ({ form, request: { body, submitter } }) => {
    if (form.id === 'composer' && !submitter?.value && /\S/.test(body.get('text'))) return 'message';
    return form.id === 'dock-form' && submitter?.value === 'submit' ? 'answer' : '';
  };
  on('htmx:before:request', ({ detail: { ctx } }) => {
    if (!isOurs(ctx)) return;
    ui.savers[ctx.form.id]?.hold();
    ctx.leg = { url: ctx.request.action, body: new URLSearchParams(ctx.request.body), kind: kindOf(ctx) };
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
    if (!isOurs(ctx) || /id="(dock|composer|outbox)"|<hx-partial/.test(ctx.text)) return;
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
    if (!isOurs(ctx)) return;
    if (ctx.form.id !== 'composer') return ui.settled(ctx.form.id);
    if (ctx.response.raw.ok) take(ctx), ui.toEnd();
    ui.notice('');
  });
}
