/** Dark, light, or as the system has it. */
const KEY = 'fairlead-theme';
const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

export const themeNow = (): Theme => THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? 'system';

export const applyTheme = (theme: Theme = themeNow()): void => {
  localStorage.setItem(KEY, theme);
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
};

export const nextTheme = (): Theme => {
  const theme = THEMES[(THEMES.indexOf(themeNow()) + 1) % THEMES.length] ?? 'system';
  applyTheme(theme);
  return theme;
};
