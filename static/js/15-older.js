// Older rows on the way up: #earlier is a plain link; near it, the page presses it itself.
{
  const { id, on } = controlui;
  let seen;
  const press = ([{ isIntersecting, target }]) => isIntersecting && target.matches('[hx-get]') && target.click();
  const watch = new IntersectionObserver(press, { root: id('scroller'), rootMargin: '400px 0px 0px' });
  const look = () => {
    const link = id('earlier');
    if (seen === link?.href) return; // after a failure it waits for the person's own press
    seen = link?.href;
    watch.disconnect();
    if (link) watch.observe(link);
  };
  on('htmx:after:swap', look);
  look();
}
