import { definition, type RefusalDefinition } from './refusal.definition.js';

/** Releases of Kubernetes. */
export const RELEASE_REFUSALS = {
  'release.not-found': definition(
    404,
    'This installation knows no release {version}',
    'List the releases with GET /releases.',
  ),
  'release.too-many': definition(
    409,
    'This installation has {max} releases of its own already',
    'Leave out releases that no cluster needs.',
  ),
  'release.catalogue-unsigned': definition(
    422,
    'None of the keys that this installation trusts has signed the catalogue',
    'Set the keys of its signers with PUT /release-signers.',
  ),
  'release.catalogue-invalid': definition(
    422,
    'The catalogue cannot be used: {reason}',
    'Ask its signer for a catalogue in the format of docs/releases.md.',
  ),
  'release.catalogue-expired': definition(
    422,
    'The catalogue expired at {expires}',
    'Import a newer catalogue of its signer.',
  ),
  'release.catalogue-replayed': definition(
    409,
    'The catalogue has sequence {sequence}, and {latest} of the same signer was accepted before',
    'Import the newest catalogue of its signer.',
  ),
} as const satisfies Record<string, RefusalDefinition>;
