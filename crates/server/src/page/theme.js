// Light or dark, before anything is drawn: what was chosen here, or else what the system says.
(() => {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const system = () => (dark.matches ? 'dark' : 'light');
  const chosen = () => {
    try {
      return localStorage.getItem('minfer.theme');
    } catch {
      return null;
    }
  };
  const apply = () => {
    document.documentElement.dataset.theme = ['light', 'dark'].includes(chosen()) ? chosen() : system();
  };
  apply();
  dark.addEventListener('change', apply);
  addEventListener('storage', apply);
  // Asked for by the switch. To choose what the system says is to follow it again.
  addEventListener('theme', () => {
    const next = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
    try {
      if (next === system()) localStorage.removeItem('minfer.theme');
      else localStorage.setItem('minfer.theme', next);
    } catch {
      // Nothing is kept here: it holds until the page is closed.
    }
    document.documentElement.dataset.theme = next;
  });
})();
