/** U+0000 and unpaired surrogates: JSON can carry both, PostgreSQL's text and jsonb can store neither. */
const UNSTORABLE = /\u0000|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** Whether every consumer of the log can store the text. */
export const isStorableText = (text: string): boolean => !UNSTORABLE.test(text);

/** Whether a parsed JSON value is at most `depthMax` deep and every text in it, including keys, can be stored. */
export const isStorableJson = (value: unknown, depthMax: number): boolean => {
  if (typeof value === 'string') return isStorableText(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depthMax === 0) return false;
  return Object.entries(value).every(([key, inner]) => isStorableText(key) && isStorableJson(inner, depthMax - 1));
};
