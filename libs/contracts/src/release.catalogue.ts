import { parseJson } from '@fairlead/parsers';
import * as z from 'zod';
import { wordsOf } from './failures.js';
import { KubernetesRelease, ReleaseVersion } from './kubernetes.release.js';
import { refuse, type Refusal } from './refusals.js';
import { Time } from './time.js';

export const RELEASE_CATALOGUE_FORMAT = 'fairlead-releases/1';

/** Maximum rows per catalogue. */
export const RELEASE_ROWS_MAX = 200;
/** Maximum characters of a catalogue, which is sent in one request. */
export const RELEASE_CATALOGUE_LENGTH_MAX = 200_000;
const REASON_LENGTH_MAX = 200;

/** No control characters: it is printed on terminals. */
const PLAIN = /^[^\x00-\x1f\x7f-\x9f]*$/u;

export const WithdrawalReason = z
  .string()
  .min(1)
  .max(REASON_LENGTH_MAX)
  .regex(PLAIN, 'must have no control characters');

export const WithdrawnRelease = z.strictObject({ version: ReleaseVersion, reason: WithdrawalReason });
export type WithdrawnRelease = z.infer<typeof WithdrawnRelease>;

/** The file `releases.json` of a signer, with its signatures in `releases.json.sig`. */
export const ReleaseCatalogue = z.strictObject({
  format: z.literal(RELEASE_CATALOGUE_FORMAT),
  sequence: z.int().min(1).describe('Grows with each catalogue of a signer: an earlier one is not accepted again'),
  expires: Time.describe('No installation accepts it afterwards'),
  releases: z.array(KubernetesRelease).max(RELEASE_ROWS_MAX),
  withdrawn: z
    .array(WithdrawnRelease)
    .max(RELEASE_ROWS_MAX)
    .default([])
    .describe('Releases that nothing new is built from'),
});
export type ReleaseCatalogue = z.infer<typeof ReleaseCatalogue>;

const invalid = (reason: string): Refusal => refuse('release.catalogue-invalid', { reason }, 'catalogue');

/** Parses a catalogue whose signature was verified, or returns why it is invalid. */
export const parseReleaseCatalogue = (text: string): ReleaseCatalogue | Refusal => {
  let json: unknown;
  try {
    json = parseJson(text, { lengthMax: RELEASE_CATALOGUE_LENGTH_MAX });
  } catch (error) {
    return invalid(wordsOf(error));
  }
  const read = ReleaseCatalogue.safeParse(json);
  if (!read.success) {
    const issue = read.error.issues[0];
    return invalid(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not a catalogue'}`);
  }
  const versions = read.data.releases.map(({ version }) => version);
  const twice = versions.find((version, index) => versions.indexOf(version) !== index);
  return twice === undefined ? read.data : invalid(`it lists ${twice} twice`);
};
