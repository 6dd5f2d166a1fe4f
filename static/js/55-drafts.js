// Drafts go to the server while one types (design rule 4); nothing of them stays in the browser's storage.
{
  const ui = controlui;
  const { id, on } = ui;
  const PAUSE = 400; // after the last key,
  const LONGEST = 1500; // but never later than this after the first
  let sequence = 0;

  on('formdata', ({ target, formData }) => {
    if (!formData.has('tab')) return;
    formData.set('tab', ui.tab);
    formData.set('tab_seq', ++sequence);
  });

  const saver = (name, saved) => {
    let unsaved = false;
    let since = 0;
    let timer = 0;
    let failures = 0;
    let busy = null; // one save at a time; the last one has everything

    const plan = (wait) => {
      clearTimeout(timer);
      timer = setTimeout(save, wait);
    };

    const failed = async (response) => {
      unsaved = true;
      failures += 1;
      const { code } = response?.status < 500 ? await response.json().catch(() => ({})) : {};
      if (code === 'session_renewed' && failures < 3) return plan(0); // its reply has brought a fresh token
      if (code === 'signed_out' || code === 'other_person') return ui.signIn(code);
      const tell = (key) => ui.notice(ui.word(key), name + ' draft');
      if (response && response.status < 500 && response.status !== 429) return tell('notKept');
      if (failures === 2 && !ui.isSaid(name)) tell('notSaved'); // a press that failed says more
      const asked = 1000 * (response?.headers.get('Retry-After') || 0);
      plan(Math.max(asked, Math.min(30000, 500 * 2 ** failures)));
    };

    const send = async () => {
      const form = id(name);
      clearTimeout(timer);
      if (!unsaved || !form?.dataset.draftUrl) return;
      unsaved = false;
      const body = new URLSearchParams(new FormData(form));
      let response;
      try {
        // It outlives the page, as far as browsers allow.
        response = await ui.post(form.dataset.draftUrl, body, { keepalive: `${body}`.length < 60000 });
        if (!response.ok) throw response.status;
        if (response.status === 200) saved(await response.json(), body);
      } catch {
        if (![404, 409, 410].includes(response?.status)) return failed(response);
        ui.sync(); // ended meanwhile; not awaited, since a fetch may wait for this very save
      }
      ui.settled(name + ' draft');
      failures = 0;
    };

    const save = () => (busy ??= send().finally(() => (busy = null)).then(() => unsaved && !failures && plan(PAUSE)));

    return {
      touch() {
        if (!unsaved) since = performance.now();
        unsaved = true;
        if (!failures) plan(Math.min(PAUSE, Math.max(0, since + LONGEST - performance.now())));
      },
      isUnsaved: () => unsaved || !!busy,
      flush: async () => {
        await busy;
        await (unsaved && save());
      },
      part: () => unsaved && send(), // the page may be gone before a reply comes
      retry: () => unsaved && failures && save(),
      // A press carries everything: there is nothing to save until it fails.
      hold: () => {
        clearTimeout(timer);
        unsaved = false;
        failures = 0;
      },
    };
  };

  const dock = saver('dock-form', ({ revision, stored }, body) => {
    const form = id('dock-form');
    if (form?.elements.prompt.value !== body.get('prompt')) return;
    if (stored !== 'ignored') form.elements.revision.value = id('dock').dataset.revision = revision;
    if (stored === 'alternate') ui.sync({ force: true }); // brings the notice "Also edited elsewhere"
  });
  const composed = ({ revision, stored }) => {
    if (stored !== 'ignored') id('composer').elements.revision.value = revision;
    if (stored === 'alternate') ui.sync({ force: true });
  };
  const savers = (ui.savers = { 'dock-form': dock, composer: saver('composer', composed) });
  ui.isUnsaved = dock.isUnsaved;
  ui.flush = dock.flush;

  const each = (verb) => () => Object.values(savers).forEach((one) => one[verb]());
  on('input', ({ target }) => savers[target.form?.id]?.touch());
  // Before a reload asks for the page, and again when the page goes.
  on('beforeunload', each('part'), window);
  on('pagehide', each('part'), window);
  on('visibilitychange', () => document.hidden && each('part')());
  // The composer's text as it was kept by another page, or too late for this one: where nothing was typed here.
  on('controlui:live', () => {
    const box = id('composer-text');
    const { composed, composer } = id('live').dataset;
    if (composed === undefined || !box || box.value !== box.defaultValue || savers.composer.isUnsaved()) return;
    if (ui.waits()) return; // some of it may wait to be sent
    if (box.value !== composed) box.value = box.defaultValue = composed;
    box.form.elements.revision.value = composer; // what is typed from now on goes on from there
  });
  // Another text was chosen, or this one kept. It was not sent: it stands in the box, before what was typed meanwhile.
  on('htmx:before:swap', ({ detail: { ctx } }) => {
    if (!/^(use-alternate|keep-mine)$/.test(ctx.request?.submitter?.value) || ctx.form?.id !== 'composer') return;
    const pressed = new URLSearchParams(ctx.request.body).get('text').replace(/\r\n/g, '\n');
    const { value } = id('composer-text');
    ctx.typed = value.startsWith(pressed) ? value.slice(pressed.length) : value;
  });
  on('htmx:finally:request', ({ detail: { ctx } }) => {
    const box = id('composer-text');
    if (ctx.typed !== undefined && ctx.status === 'swapped' && box) box.value = box.defaultValue + ctx.typed;
  });
  on('controlui:asked', ({ detail: ok }) => ok && each('retry')());
}
