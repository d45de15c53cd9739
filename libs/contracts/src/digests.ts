import * as z from 'zod';

/** Lowercase hex. */
export const Sha256 = z
  .string()
  .regex(/^[0-9a-f]{64}$/, { error: 'is not a SHA-256: 64 lowercase hexadecimal digits' });

/** Relative and without `..`: a catalogue must not name files outside its mirror. */
export const MirrorPath = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._+~:-]*(\/[A-Za-z0-9][A-Za-z0-9._+~:-]*)*$/, 'must be a path relative to the mirror')
  .max(240);
