// A single choice sends one thing: the chosen option, or the typed text. Neither is ever erased (design section 7).
{
  const ui = controlui;
  const isText = (element) => element.matches?.('#dock-fields textarea');
  const radios = (element) => [...element.closest('#dock-fields').querySelectorAll('input[type=radio]')];

  ui.on('input', ({ target }) => {
    const chosen = isText(target) && radios(target).find((radio) => radio.checked);
    if (!chosen || !/\S/.test(target.value)) return;
    chosen.checked = false;
    ui.say(ui.word('textInstead'));
  });

  ui.on('change', ({ target }) => {
    if (!target.matches?.('#dock-fields input[type=radio]')) return;
    const typed = target.closest('#dock-fields').querySelector('textarea')?.value;
    const option = target.closest('label').querySelector('.option-label').textContent;
    if (/\S/.test(typed ?? '')) ui.say(ui.word('optionInstead', { option }));
  });
}
