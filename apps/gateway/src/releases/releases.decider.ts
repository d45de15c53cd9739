import { refuse, type Fact, type KubernetesRelease, type Refusal, type ReleaseCatalogue } from '@fairlead/contracts';
import {
  findRelease,
  isSameRelease,
  knownReleases,
  NO_OWN_RELEASES,
  OWN_RELEASES_MAX,
  ownReleasesAfter,
  type OwnReleases,
} from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { sameJson } from '../common/json.js';

export type SetReleaseSigners = Command<'SetReleaseSigners', { readonly signers: readonly string[] }>;
/** `signer`: the key whose signature of the text with this SHA-256 was verified. */
export type AcceptReleaseCatalogue = Command<
  'AcceptReleaseCatalogue',
  {
    readonly catalogue: ReleaseCatalogue;
    readonly signer: string;
    readonly sha256: string;
    /** RFC 3339. */
    readonly now: string;
  }
>;
export type AddRelease = Command<'AddRelease', { readonly release: KubernetesRelease }>;
export type WithdrawRelease = Command<'WithdrawRelease', { readonly version: string; readonly reason: string }>;

type ReleaseFact = Fact<'ReleaseSignersSet' | 'ReleaseCatalogueAccepted' | 'ReleaseAdded' | 'ReleaseWithdrawn'>;

const tooMany = (own: OwnReleases, added: readonly KubernetesRelease[]): Refusal | undefined => {
  const versions = new Set([...own.releases.keys(), ...added.map(({ version }) => version)]);
  return versions.size > OWN_RELEASES_MAX ? refuse('release.too-many', { max: OWN_RELEASES_MAX }) : undefined;
};

const accept = (
  own: OwnReleases,
  { catalogue, signer, sha256, now }: AcceptReleaseCatalogue['data'],
): readonly ReleaseFact[] | Refusal => {
  // Verified by the shell; who is trusted may have changed since.
  if (!own.signers.includes(signer)) return refuse('release.catalogue-unsigned');
  const { sequence, expires } = catalogue;
  if (Date.parse(expires) <= Date.parse(now)) return refuse('release.catalogue-expired', { expires });
  const before = own.catalogues.get(signer);
  if (before?.sequence === sequence && before.sha256 === sha256) return nothing;
  if (before !== undefined && sequence <= before.sequence)
    return refuse('release.catalogue-replayed', { sequence, latest: before.sequence });
  const releases = catalogue.releases.filter((release) => !isSameRelease(release, findRelease(own, release.version)));
  const known = new Set([...knownReleases(own), ...releases].map(({ version }) => version));
  const withdrawn = catalogue.withdrawn.filter(({ version }) => known.has(version) && !own.withdrawn.has(version));
  const data = { signer, sequence, expires, sha256, releases, withdrawn };
  return tooMany(own, releases) ?? [{ type: 'ReleaseCatalogueAccepted', data }];
};

const add = (own: OwnReleases, { release }: AddRelease['data']): readonly ReleaseFact[] | Refusal => {
  const isOffered = !own.withdrawn.has(release.version);
  if (isOffered && isSameRelease(release, findRelease(own, release.version))) return nothing;
  return tooMany(own, [release]) ?? [{ type: 'ReleaseAdded', data: { release } }];
};

const withdraw = (own: OwnReleases, { version, reason }: WithdrawRelease['data']): readonly ReleaseFact[] | Refusal => {
  if (findRelease(own, version) === undefined) return refuse('release.not-found', { version });
  return own.withdrawn.get(version) === reason ? nothing : [{ type: 'ReleaseWithdrawn', data: { version, reason } }];
};

/** The releases that the installation has beside those that are built in. */
export const releases: Decider<
  OwnReleases,
  SetReleaseSigners | AcceptReleaseCatalogue | AddRelease | WithdrawRelease,
  ReleaseFact
> = {
  initial: NO_OWN_RELEASES,

  decide: (own, command) => {
    switch (command.type) {
      case 'SetReleaseSigners': {
        const signers = [...new Set(command.data.signers)];
        return sameJson(signers, own.signers) ? nothing : [{ type: 'ReleaseSignersSet', data: { signers } }];
      }
      case 'AcceptReleaseCatalogue':
        return accept(own, command.data);
      case 'AddRelease':
        return add(own, command.data);
      case 'WithdrawRelease':
        return withdraw(own, command.data);
    }
  },

  evolve: ownReleasesAfter,
};
