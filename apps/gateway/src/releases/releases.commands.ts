import { createHash } from 'node:crypto';
import {
  CONNECTIONS_STREAM,
  isRefusal,
  parseReleaseCatalogue,
  refuse,
  type ReleaseCatalogueRequest,
  type ReleaseRequest,
} from '@fairlead/contracts';
import type { OwnReleases } from '@fairlead/domain';
import { HANDLE, type Decided, type Handle } from '@fairlead/event-sourcing/jetstream';
import { signerOf } from '@fairlead/mirror/signatures';
import { CLOCK, InstallationReleases, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { causeOf, type Caller } from '../http/caller.js';
import { unwrap, RefusalError } from '../http/refusal.error.js';
import {
  releases,
  type AcceptReleaseCatalogue,
  type AddRelease,
  type SetReleaseSigners,
  type WithdrawRelease,
} from './releases.decider.js';

@Injectable()
export class ReleaseCommands {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(InstallationReleases) private readonly known: InstallationReleases,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  setSigners(signers: readonly string[], caller: Caller): Promise<Decided<OwnReleases>> {
    return this.decide({ type: 'SetReleaseSigners', data: { signers } }, caller);
  }

  /** Nothing of the text is read before a trusted key is known to have signed it. */
  async accept(
    { catalogue: text, signatures }: ReleaseCatalogueRequest,
    caller: Caller,
  ): Promise<Decided<OwnReleases>> {
    const sha256 = createHash('sha256').update(text).digest('hex');
    const { signers } = await this.known.latest();
    const signer = signerOf(signatures, 'releases', sha256, signers);
    if (signer === undefined) throw new RefusalError(refuse('release.catalogue-unsigned', {}, 'signatures'));
    const catalogue = parseReleaseCatalogue(text);
    if (isRefusal(catalogue)) throw new RefusalError(catalogue);
    const now = this.clock.now().toISOString();
    return this.decide({ type: 'AcceptReleaseCatalogue', data: { catalogue, signer, sha256, now } }, caller);
  }

  add(version: string, request: ReleaseRequest, caller: Caller): Promise<Decided<OwnReleases>> {
    return this.decide({ type: 'AddRelease', data: { release: { version, ...request } } }, caller);
  }

  withdraw(version: string, reason: string, caller: Caller): Promise<Decided<OwnReleases>> {
    return this.decide({ type: 'WithdrawRelease', data: { version, reason } }, caller);
  }

  private async decide(
    command: SetReleaseSigners | AcceptReleaseCatalogue | AddRelease | WithdrawRelease,
    caller: Caller,
  ): Promise<Decided<OwnReleases>> {
    return unwrap(await this.handle(releases, CONNECTIONS_STREAM, command, causeOf(caller)));
  }
}
