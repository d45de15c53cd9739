const NAMES_SHOWN_MAX = 5;

/** A few names, and how many more there are. */
export const shownNames = (names: readonly string[]): string =>
  names.length <= NAMES_SHOWN_MAX
    ? names.join(', ')
    : `${names.slice(0, NAMES_SHOWN_MAX).join(', ')} and ${names.length - NAMES_SHOWN_MAX} more`;
