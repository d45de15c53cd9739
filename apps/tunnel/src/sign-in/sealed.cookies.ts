import { parseJsonOrUndefined } from '@fairlead/parsers';
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type * as z from 'zod';

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Browsers keep no longer cookie. */
const TEXT_LENGTH_MAX = 4_000;

/**
 * Texts that only this tunnel, in all its replicas, can write and read. They share the SSH host key, from which the key
 * is derived, so that nothing has to be kept here.
 */
export class SealedCookies {
  private readonly key: Buffer;

  constructor(hostKey: string) {
    this.key = Buffer.from(hkdfSync('sha256', hostKey, '', 'fairlead tunnel cookies 1', KEY_BYTES));
  }

  /** `purpose` binds it to one use, and to one name. */
  seal(purpose: string, value: object): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.key, iv).setAAD(Buffer.from(purpose));
    const sealed = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url');
  }

  /** undefined: it was not sealed here, for another purpose, or it is something else. */
  open<Value>(purpose: string, text: string | undefined, schema: z.ZodType<Value>): Value | undefined {
    if (text === undefined || text.length > TEXT_LENGTH_MAX) return undefined;
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
    try {
      const decipher = createDecipheriv(ALGORITHM, this.key, bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      })
        .setAAD(Buffer.from(purpose))
        .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      const opened = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
      const parsed = schema.safeParse(parseJsonOrUndefined(opened.toString('utf8'), { lengthMax: TEXT_LENGTH_MAX }));
      return parsed.success ? parsed.data : undefined;
    } catch {
      return undefined;
    }
  }
}
