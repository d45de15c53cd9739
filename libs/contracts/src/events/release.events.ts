import * as z from 'zod';
import { Sha256 } from '../digests.js';
import { KubernetesRelease, ReleaseVersion } from '../kubernetes.release.js';
import { RELEASE_ROWS_MAX, ReleaseCatalogue, WithdrawalReason, WithdrawnRelease } from '../release.catalogue.js';
import { SIGNERS_MAX, SigningKey } from '../software.trust.js';
import { defineEvent } from './definition.js';

const ofInstallation = { version: 1, writer: 'gateway', context: 'request', scope: 'installation' } as const;

/** Kubernetes releases that an installation knows in addition to the built-in ones. */
export const releaseEvents = {
  ReleaseSignersSet: defineEvent({
    ...ofInstallation,
    doc: 'Catalogues of releases are accepted from these signers, and from no others.',
    data: z.strictObject({ signers: z.array(SigningKey).max(SIGNERS_MAX) }),
  }),
  ReleaseCatalogueAccepted: defineEvent({
    ...ofInstallation,
    doc: 'A signed catalogue of releases was accepted; earlier ones of its signer are not accepted any more.',
    data: z.strictObject({
      signer: SigningKey,
      sequence: ReleaseCatalogue.shape.sequence,
      expires: ReleaseCatalogue.shape.expires,
      sha256: Sha256.describe('Of its text'),
      releases: z.array(KubernetesRelease).max(RELEASE_ROWS_MAX).describe('Its rows that are new or have changed'),
      withdrawn: z.array(WithdrawnRelease).max(RELEASE_ROWS_MAX).describe('Those that were not withdrawn before'),
    }),
  }),
  ReleaseAdded: defineEvent({
    ...ofInstallation,
    doc: 'An administrator added a release, or replaced what was known of it; it is not withdrawn any more.',
    data: z.strictObject({ release: KubernetesRelease }),
  }),
  ReleaseWithdrawn: defineEvent({
    ...ofInstallation,
    doc: 'No cluster is created with the release or upgraded to it any more; clusters that run it go on.',
    data: z.strictObject({ version: ReleaseVersion, reason: WithdrawalReason }),
  }),
} as const;
