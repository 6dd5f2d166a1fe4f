// The swap style "place": rows join a list by id, in the order of data-at, and nobody loses their place.
{
  const { id, on } = controlui;
  const box = () => id('scroller');
  const folds = new WeakSet(); // <details> that the person has opened or closed
  let morph;
  let atEnd = !/[?&]before=|#message-/.test(location.href);

  // Something newer stands below, out of sight: one button says so and leads there.
  const newest = id('newest');
  const tell = (show) => {
    if (!newest || newest.hidden === !show) return;
    if (document.activeElement === newest) box().focus({ preventScroll: true });
    newest.hidden = !show;
    if (show) controlui.say(newest.firstChild.textContent.trim());
  };

  let top = 0;
  const toEnd = (controlui.toEnd = () => box().scrollTo({ top: box().scrollHeight, behavior: 'instant' }));
  const isAtEnd = () => box().scrollHeight - box().scrollTop - box().clientHeight < 48;

  // Keeps the row that stands at the top edge where it stands, unless the person reads the newest.
  const keepPlace = (list, change) => {
    const edge = box()?.getBoundingClientRect().top;
    // A day's line moves up as older rows of that day come.
    const stands = (each) => each.getBoundingClientRect().bottom > edge && !each.id.startsWith('day-');
    const row = atEnd ? null : [...list.children].find(stands);
    const before = row?.getBoundingClientRect().top;
    change();
    if (row?.isConnected) box().scrollBy({ top: row.getBoundingClientRect().top - before, behavior: 'instant' });
    else if (box() && atEnd) toEnd();
  };

  const insert = (list, row) => {
    const at = row.dataset.at ?? '';
    const time = (each) => each?.dataset.at ?? '';
    const next = row.nextElementSibling;
    if (row.parentElement === list && time(row.previousElementSibling) <= at && (!next || at <= time(next))) return;
    let last = list.lastElementChild;
    while (last && (last === row || time(last) > at)) last = last.previousElementSibling;
    last ? last.after(row) : list.prepend(row);
  };

  const place = (list, fragment) =>
    [...fragment.children].map((fresh) => {
      // A note that stood alone may have become part of a fold: an id stands once.
      for (const inner of fresh.querySelectorAll('[id]')) {
        if (id(inner.id)?.parentElement === list) id(inner.id).remove();
      }
      const old = id(fresh.id);
      if (old?.parentElement === list) {
        const holder = document.createDocumentFragment();
        holder.append(fresh);
        morph(old, holder, false);
      }
      const row = old?.parentElement === list ? old : fresh;
      insert(list, row);
      return row;
    });

  htmx.registerExtension('place', {
    init: (api) => (morph = api.morph),
    handle_swap: (style, list, fragment) => {
      if (style !== 'place') return;
      const last = list.lastElementChild;
      let rows;
      keepPlace(list, () => (rows = place(list, fragment)));
      if (!atEnd && list.lastElementChild !== last) tell(true);
      return rows;
    },
    // What the person has opened stays open, what they closed stays closed.
    htmx_before_morph_attr: (element, { attrName }) => !(attrName === 'open' && folds.has(element)),
  });

  on('click', ({ target }) => {
    const fold = target.closest?.('summary')?.parentElement;
    if (!fold) return;
    folds.add(fold);
    if (box()?.contains(fold)) atEnd = false; // what one opens stays where it is
  });

  if (box()) {
    box().style.overflowAnchor = 'none';
    const scrolled = () => {
      // Only the way up leaves the end: a smaller box does not.
      atEnd = isAtEnd() || (atEnd && box().scrollTop >= top);
      top = box().scrollTop;
      if (atEnd) tell(false);
    };
    newest?.addEventListener('click', toEnd);
    box().addEventListener('scroll', scrolled, { passive: true });
    // The dock grew, an image came, the window turned: the newest line stays in view (bugs case 104).
    const watch = new ResizeObserver(() => (atEnd ? toEnd() : (atEnd = isAtEnd())));
    watch.observe(box());
    if (id('timeline')) watch.observe(id('timeline'));
    if (atEnd) toEnd();
  }
}
