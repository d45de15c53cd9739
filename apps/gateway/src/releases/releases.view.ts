import type { KubernetesRelease, ReleaseSignersView, ReleaseView } from '@fairlead/contracts';
import { knownReleases, originOf, type OwnReleases } from '@fairlead/domain';

const releaseView = (own: OwnReleases, release: KubernetesRelease): ReleaseView => ({
  kind: 'Release',
  ...release,
  origin: originOf(own, release.version),
  withdrawn: own.withdrawn.get(release.version) ?? null,
});

/** Newest first. */
export const releaseViews = (own: OwnReleases): readonly ReleaseView[] =>
  knownReleases(own)
    .map((release) => releaseView(own, release))
    .toReversed();

export const signersView = ({ signers, catalogues }: OwnReleases, now: Date): ReleaseSignersView => ({
  kind: 'ReleaseSigners',
  signers: [...signers],
  catalogues: [...catalogues].map(([signer, { sequence, expires, acceptedAt, sha256 }]) => ({
    signer,
    sequence,
    expiresTime: expires,
    expired: Date.parse(expires) <= now.getTime(),
    acceptedTime: acceptedAt,
    sha256,
  })),
});
