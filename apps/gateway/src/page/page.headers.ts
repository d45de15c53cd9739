import { createHash } from 'node:crypto';

/** So a page may only load, show and contact what this gateway serves; its one style that is not a file has the nonce. */
const policy = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

type Headers = Readonly<Record<string, string>>;

const COMMON: Headers = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

export const documentHeaders = (nonce: string): Headers => ({
  ...COMMON,
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': policy(nonce),
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-store',
});

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
  md: 'text/plain; charset=utf-8',
};

/** Of a file whose name has the hash of its content. */
export const assetHeaders = (name: string): Headers => ({
  ...COMMON,
  'Content-Type': TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
  'Cache-Control': 'public, max-age=31536000, immutable',
  Vary: 'Accept-Encoding',
});

const REFRESH_SECONDS = 3;

/** Where the page is not built, or not built yet. */
export const missingPage = (isExpected: boolean): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Fairlead</title>${
    isExpected ? `<meta http-equiv="refresh" content="${REFRESH_SECONDS}">` : ''
  }</head><body><h1>Fairlead</h1><p>${
    isExpected
      ? "The operator's page is not built yet. This document reloads until it is; to build it now, run <code>node tools/page.mjs</code> in the checkout."
      : "The operator's page is not served here: PAGE_DIR is not set."
  }</p><p><a href="docs">API documentation</a></p></body></html>\n`;

/** Encodings in which files lie beside themselves, the smaller first. */
export const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

/** The first of them that the request accepts and that there is. */
export const encodingOf = (
  accepted: string,
  has: (suffix: string) => boolean,
): (typeof ENCODINGS)[number] | undefined => {
  const offered = new Set(
    accepted
      .split(',')
      .filter((one) => !/;\s*q=0(\.0+)?\s*$/.test(one))
      .map((one) => one.split(';')[0]?.trim().toLowerCase()),
  );
  return ENCODINGS.find(([name, suffix]) => offered.has(name) && has(suffix));
};

export const newNonce = (random: Buffer): string =>
  createHash('sha256').update(random).digest('base64url').slice(0, 24);
