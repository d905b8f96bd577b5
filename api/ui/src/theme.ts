// Runs before the page is painted, so that a chosen theme does not flash in the other one.
try {
  const chosen = localStorage.getItem('reroll-theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be forbidden; the system's theme is right then.
}
export {};
