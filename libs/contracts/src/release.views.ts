import * as z from 'zod';
import { KubernetesRelease, RELEASE_ORIGINS, ReleaseVersion, Verification } from './kubernetes.release.js';
import { RELEASE_CATALOGUE_LENGTH_MAX, WithdrawalReason } from './release.catalogue.js';
import { SIGNERS_MAX, SigningKey } from './software.trust.js';
import { paged } from './views/list.views.js';
import { time } from './views/time.js';

const SIGNATURES_LENGTH_MAX = 4_096;

export const ReleasePath = z.object({ version: ReleaseVersion });
export type ReleasePath = z.infer<typeof ReleasePath>;

export const ReleaseRequest = KubernetesRelease.omit({ version: true })
  .extend({
    verified: Verification.default('listed'),
    sha256: KubernetesRelease.shape.sha256.default(null),
  })
  .meta({ id: 'ReleaseRequest', description: 'What belongs to a release of Kubernetes' });
export type ReleaseRequest = z.infer<typeof ReleaseRequest>;

export const ReleaseWithdrawal = z
  .strictObject({ reason: WithdrawalReason.describe('Why; users who request it see it') })
  .meta({ id: 'ReleaseWithdrawal' });
export type ReleaseWithdrawal = z.infer<typeof ReleaseWithdrawal>;

export const ReleaseCatalogueRequest = z
  .strictObject({
    catalogue: z.string().max(RELEASE_CATALOGUE_LENGTH_MAX).describe('The text of releases.json, as it was signed'),
    signatures: z.string().max(SIGNATURES_LENGTH_MAX).describe('The text of releases.json.sig'),
  })
  .meta({ id: 'ReleaseCatalogueRequest', description: 'A signed catalogue of releases' });
export type ReleaseCatalogueRequest = z.infer<typeof ReleaseCatalogueRequest>;

export const ReleaseSignersRequest = z
  .strictObject({
    signers: z.array(SigningKey).max(SIGNERS_MAX).describe('All of them; none: no catalogue is accepted'),
  })
  .meta({ id: 'ReleaseSignersRequest' });
export type ReleaseSignersRequest = z.infer<typeof ReleaseSignersRequest>;

export const ReleaseView = z
  .strictObject({
    kind: z.literal('Release'),
    ...KubernetesRelease.shape,
    origin: z
      .enum(RELEASE_ORIGINS)
      .describe('built-in: it came with Fairlead; catalogue: by a signed one; added: by hand'),
    withdrawn: z.string().nullable().describe('Why nothing new is built from it; null: it is offered'),
  })
  .meta({ id: 'Release', description: 'A release of Kubernetes that this installation knows' });
export type ReleaseView = z.infer<typeof ReleaseView>;

export const ReleaseList = z
  .strictObject({ kind: z.literal('ReleaseList'), items: z.array(ReleaseView), ...paged })
  .meta({ id: 'ReleaseList' });
export type ReleaseList = z.infer<typeof ReleaseList>;

export const ReleaseSignersView = z
  .strictObject({
    kind: z.literal('ReleaseSigners'),
    signers: z.array(z.string()),
    catalogues: z
      .array(
        z.strictObject({
          signer: z.string(),
          sequence: z.int(),
          expiresTime: time,
          expired: z.boolean().describe('true: its signer should have published a newer one by now'),
          acceptedTime: time,
          sha256: z.string(),
        }),
      )
      .describe('The last one of each signer that was ever accepted'),
  })
  .meta({ id: 'ReleaseSigners', description: 'Who may sign catalogues of releases, and the last one of each' });
export type ReleaseSignersView = z.infer<typeof ReleaseSignersView>;
