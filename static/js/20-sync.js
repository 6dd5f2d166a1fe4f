// The fetch is the truth (design rule 3): /live says what changed since the versions that this page shows.
{
  const ui = controlui;
  const { id } = ui;
  const data = () => id('live').dataset;
  const versions = new Map(); // stream -> version
  let running = null; // one fetch at a time;
  let again = false; // what happens meanwhile makes it run once more,
  let frames = []; // and what was pushed meanwhile is drawn once more, since the fetch may be older.
  let force = false; // ask for everything: a fresh ticket, or a draft that this page did not take
  let wish = null; // the view that this tab would rather have drawn than its own (see 32-front)
  let flushed = false; // asked once more, for what was typed last
  let asked; // what the person saw and had done when the fetch under way began

  const readVersions = () => {
    versions.clear();
    for (const pair of data().streams.split(' ').filter(Boolean)) {
      const [stream, version] = pair.split(':');
      versions.set(stream, +version);
    }
  };

  const query = () => {
    const view = wish ? new URLSearchParams(wish) : ui.view();
    asked = ui.moment();
    for (const [stream, version] of versions) view.append('s', `${stream}:${version}`);
    view.set('d', force ? '' : data().drafts);
    view.set('c', data().composer);
    view.set('as', document.body.dataset.user);
    if (ui.undoable()) view.set('undo', ui.undoable());
    return view;
  };

  const apply = async (html) => {
    const page = new DOMParser().parseFromString(html.replace(/<(\/?)hx-partial/g, '<$1div'), 'text/html');
    const next = page.getElementById('dock')?.dataset;
    const rather = next && (await ui.rather(asked, next));
    if (rather === null || (rather && !wish)) {
      wish = rather;
      return (again = true);
    }
    const dock = id('dock').dataset;
    if (next && (next.prompt !== dock.prompt || next.step !== dock.step) && ui.isUnsaved()) {
      await ui.flush(); // what is typed shall stand in what is drawn
      if (!flushed) return (again = flushed = true);
    }
    wish = null;
    flushed = force = false;
    await htmx.swap({ text: html, swap: 'none', target: document.body, sourceElement: document.body, live: true });
    readVersions();
    soon = clearTimeout(soon);
    for (const frame of frames.splice(0)) draw(frame);
    ui.emit('live');
  };

  const once = async () => {
    let response, html;
    try {
      response = await ui.fetch(`${data().url}?${query()}`, { headers: { Accept: 'text/html' } });
      html = response.status === 200 ? await response.text() : '';
    } catch {
      return false;
    }
    const clock = response.headers.get('X-Server-Now');
    if (clock) ui.emit('clock', +clock);
    if (ui.isForeign(response) || response.status === 404) ui.leave(response.status);
    else if (response.status === 304) [force, wish] = [false, null];
    if (html && !ui.isForeign(response)) await apply(html);
    return response.status === 304 || !!html;
  };

  const run = async () => {
    let ok;
    wish = !id('dock').dataset.prompt && ui.composerIsBusy() ? { folded: 1 } : null;
    do {
      again = false;
      frames = [];
      ui.emit('asking');
      ok = await once();
      ui.emit('asked', ok);
    } while (ok && again);
    frames = [];
    return ok;
  };

  // Resolves to whether the server was reached and this page is still the person's.
  ui.sync = (options = {}) => {
    force ||= !!options.force;
    if (running) again = true;
    // A fault of ours must not stop the next fetch.
    return (running ??= run().catch(console.error).finally(() => (running = null)));
  };

  const draw = (frame) => {
    const mine = versions.get(frame.stream) ?? -1;
    if (frame.version <= mine) return;
    if (frame.version > mine + 1) {
      ui.sync();
      return;
    }
    versions.set(frame.stream, frame.version);
    const list = id('timeline');
    htmx.swap({ text: frame.html, swap: 'place', target: list, sourceElement: list, live: true });
  };

  // Something may wait elsewhere: soon enough, and all pages not at once. A fetch in between has brought it.
  let soon = 0;
  const listen = () => (soon ||= setTimeout(() => ((soon = 0), ui.sync()), 300 + Math.random() * 1200));

  // One frame of the socket.
  ui.receive = (frame) => {
    if (frame.type === 'list') return listen();
    if (frame.type === 'rows') {
      if (running) frames.push(frame);
      draw(frame);
    } else if (frame.type === 'changed') {
      if (frame.version > (versions.get(frame.stream) ?? -1)) ui.sync();
    } else if (frame.type !== 'draft' || frame.tab !== ui.tab) ui.sync();
  };

  if (id('live')) readVersions();
}
