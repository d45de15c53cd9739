/** A place in the page, as the fragment of its address names it: `#/clusters/default/demo?at=42`. */
export interface Place {
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

export const placeOf = (hash: string): Place => {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  return {
    path: path
      .split('/')
      .filter((part) => part !== '')
      .map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
};

/** The fragment of a place. Parts that are undefined or empty are left out of the query. */
export const hashOf = (
  path: readonly string[],
  query: Readonly<Record<string, string | number | undefined>> = {},
): string => {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)] as [string, string]],
  );
  const search = new URLSearchParams(given).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`;
};
