/** Shorter ones occur in ordinary words. */
const SECRET_LENGTH_MIN = 6;
const HIDDEN = '***';
const BASE64_GROUP = 3;

/** The characters of Base64 that a text has wherever it begins in what is encoded. */
const base64Of = (text: string): readonly string[] =>
  [0, 1, 2].map((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]);
    // The first and the last characters also encode what is beside the text.
    const whole = bytes.subarray(0, bytes.length - (bytes.length % BASE64_GROUP)).toString('base64');
    return whole.slice(offset === 0 ? 0 : offset + 1);
  });

const urlSafe = (text: string): string => text.replaceAll('+', '-').replaceAll('/', '_');

const formsOf = (secret: string): readonly string[] => {
  const base64 = base64Of(secret);
  const hex = Buffer.from(secret).toString('hex');
  return [
    ...[secret, [...secret].reverse().join(''), encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)],
    ...[hex, hex.toUpperCase(), ...base64, ...base64.map(urlSafe)],
  ].filter(({ length }) => length >= SECRET_LENGTH_MIN);
};

/** What a cloud says, without the secrets that were sent to it: as they are, backwards, in Base64, hex, URLs and JSON. */
export const withoutSecrets = (words: string, secrets: readonly string[]): string =>
  secrets.flatMap(formsOf).reduce((text, form) => text.replaceAll(form, HIDDEN), words);
