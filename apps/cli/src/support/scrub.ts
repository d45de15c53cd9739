/** What stands where a secret was. */
export const REMOVED = '[removed]';

/** Secrets that are recognized by their form, wherever they stand. Every repetition is bounded: a log may be one line without a space. */
const FORMS: readonly (readonly [form: RegExp, replacement: string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, REMOVED],
  [/-----BEGIN [A-Z ]*(?:NKEY SEED|NATS USER JWT)-----[\s\S]*?(?:---END [A-Z ]*-{3,}|$)/g, REMOVED],
  [/\bf[a-z]{1,3}_[0-9a-f]{12,16}_[\w-]{43}/g, REMOVED],
  [/(?<![\w-])eyJ[\w-]{8,4096}\.[\w-]{8,}(?:\.[\w-]*)?/g, REMOVED],
  [/\bS[UAOCN][A-Z2-7]{56}\b/g, REMOVED],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, REMOVED],
  [/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, REMOVED],
  [/(--certificate-key[ =]|certificateKey["':= ]+)[0-9a-f]{64}/gi, `$1${REMOVED}`],
  [/\b(bearer|basic) +[\w.~+/=-]{8,}/gi, `$1 ${REMOVED}`],
  [/(:\/\/[^\s/:@"']{0,64}:)[^\s@"']{1,256}@/g, `$1${REMOVED}@`],
  [
    /((?:client-key-data|password|passwd|secret|token|api[_-]?key)\\*["']?\s*[:=]\s*\\*["']?)[^\s"'\\,}&]{6,}/gi,
    `$1${REMOVED}`,
  ],
];

/** Shorter ones would be found in words. */
const KNOWN_LENGTH_MIN = 12;

/** Takes secrets out of a text: those that are known, however they look, and those that look like some. */
export const scrubbed = (text: string, known: readonly string[]): string => {
  const plain = known
    .filter(({ length }) => length >= KNOWN_LENGTH_MIN)
    .reduce((rest, secret) => rest.replaceAll(secret, REMOVED), text);
  return FORMS.reduce((rest, [form, replacement]) => rest.replaceAll(form, replacement), plain);
};

const SECRET_FIELD = /token|secret|password|passwd|private_?key|kubeconfig|authorization|credential|certificate_?key/i;
/** They name a secret, or say something about one. */
const ABOUT_SECRET = /(?:name|names|ref|id|ids|file|at|count|kind|stored|url|path|revision|type|reason|message)$/i;

/** The same of data, where a field says what it holds. */
export const scrubbedData = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(scrubbedData);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => {
      const isSecret = typeof inner === 'string' && SECRET_FIELD.test(field) && !ABOUT_SECRET.test(field);
      return [field, isSecret && inner !== '' ? REMOVED : scrubbedData(inner)];
    }),
  );
};
