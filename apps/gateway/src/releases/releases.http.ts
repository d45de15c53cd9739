import {
  ListQuery,
  refuse,
  ReleaseCatalogueRequest,
  ReleaseList,
  ReleasePath,
  ReleaseRequest,
  ReleaseSignersRequest,
  ReleaseSignersView,
  ReleaseView,
  ReleaseWithdrawal,
} from '@fairlead/contracts';
import type { OwnReleases } from '@fairlead/domain';
import type { Decided } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, InstallationReleases, type Clock } from '@fairlead/service-kit';
import { Body, Controller, Get, HttpCode, Inject, Param, Post, Put, Query } from '@nestjs/common';
import { RoleEverywhere, RoleInSomeNamespace } from '../access/access.js';
import { showSeq } from '../http/answers.js';
import { FromExchange, type Exchange } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { KeyedCommand } from '../http/operator.command.js';
import { IsWhole, pageOf, pageRequest } from '../http/page.js';
import { RefusalError } from '../http/refusal.error.js';
import { ReleaseCommands } from './releases.commands.js';
import { releaseViews, signersView } from './releases.view.js';

/** In the order of versions. */
const keyOf = ({ version }: ReleaseView): string => version.replaceAll(/\d+/g, (number) => number.padStart(3, '0'));

const shown = (own: OwnReleases, version: string): ReleaseView => {
  const view = releaseViews(own).find((one) => one.version === version);
  if (view === undefined) throw new RefusalError(refuse('release.not-found', { version }));
  return view;
};

@Controller(bothBases('releases'))
export class ReleasesHttp {
  constructor(
    @Inject(ReleaseCommands) private readonly commands: ReleaseCommands,
    @Inject(InstallationReleases) private readonly known: InstallationReleases,
  ) {}

  @Get()
  @RoleInSomeNamespace('viewer')
  @Documented({
    id: 'listReleases',
    tag: 'releases',
    records: 'nothing',
    summary: 'The releases of Kubernetes that this installation knows, the newest first',
    answers: [{ status: 200, description: 'The releases', schema: ReleaseList }],
    refusals: ['list.continue-invalid', 'wait.seq-ahead', 'wait.too-long'],
  })
  async list(@Query({ schema: ListQuery }) query: ListQuery, @IsWhole() isWhole: boolean): Promise<ReleaseList> {
    const { minSeq: _minSeq, ...page } = query;
    const items = releaseViews(await this.known.latest());
    const request = pageRequest('releases', page, isWhole);
    return { kind: 'ReleaseList', ...pageOf(request, [...items], { keyOf, order: 'descending' }) };
  }

  @Get(':version')
  @RoleInSomeNamespace('viewer')
  @Documented({
    id: 'getRelease',
    tag: 'releases',
    records: 'nothing',
    summary: 'A release of Kubernetes, with what belongs to it',
    answers: [{ status: 200, description: 'The release', schema: ReleaseView }],
    refusals: ['release.not-found'],
  })
  async get(@Param({ schema: ReleasePath }) { version }: ReleasePath): Promise<ReleaseView> {
    return shown(await this.known.latest(), version);
  }

  @Put(':version')
  @RoleEverywhere('admin')
  @Documented({
    id: 'putRelease',
    tag: 'releases',
    records: 'end',
    summary: 'Add a release of Kubernetes, or replace what is known of it',
    description: 'A release that was withdrawn is offered again.',
    answers: [{ status: 200, description: 'It is known', schema: ReleaseView }],
    refusals: ['release.too-many', 'conflict.concurrent'],
  })
  async put(
    @Param({ schema: ReleasePath }) { version }: ReleasePath,
    @Body({ schema: ReleaseRequest }) request: ReleaseRequest,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<ReleaseView> {
    const { seq, state } = await this.commands.add(version, request, caller);
    showSeq(response, seq);
    return shown(state, version);
  }

  @Post(':version/withdraw')
  @HttpCode(200)
  @RoleEverywhere('admin')
  @KeyedCommand()
  @Documented({
    id: 'withdrawRelease',
    tag: 'releases',
    records: 'end',
    summary: 'Offer a release of Kubernetes no more',
    description: 'No cluster is created with it or upgraded to it; clusters that run it go on.',
    answers: [{ status: 200, description: 'It is withdrawn', schema: ReleaseView }],
    refusals: ['release.not-found', ...CHANGE_REFUSALS],
  })
  async withdraw(
    @Param({ schema: ReleasePath }) { version }: ReleasePath,
    @Body({ schema: ReleaseWithdrawal }) { reason }: ReleaseWithdrawal,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<ReleaseView> {
    const { seq, state } = await this.commands.withdraw(version, reason, caller);
    showSeq(response, seq);
    return shown(state, version);
  }
}

@Controller(bothBases('release-signers'))
export class ReleaseSignersHttp {
  constructor(
    @Inject(ReleaseCommands) private readonly commands: ReleaseCommands,
    @Inject(InstallationReleases) private readonly known: InstallationReleases,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @RoleInSomeNamespace('viewer')
  @Documented({
    id: 'getReleaseSigners',
    tag: 'releases',
    records: 'nothing',
    summary: 'Who may sign catalogues of releases, and the last catalogue of each',
    answers: [{ status: 200, description: 'Public keys and catalogues', schema: ReleaseSignersView }],
  })
  async get(): Promise<ReleaseSignersView> {
    return signersView(await this.known.latest(), this.clock.now());
  }

  @Put()
  @RoleEverywhere('admin')
  @Documented({
    id: 'putReleaseSigners',
    tag: 'releases',
    records: 'end',
    summary: 'Set who may sign catalogues of releases',
    description: 'Releases of a catalogue that was accepted before stay.',
    answers: [{ status: 200, description: 'They are set', schema: ReleaseSignersView }],
    refusals: ['conflict.concurrent'],
  })
  async put(
    @Body({ schema: ReleaseSignersRequest }) { signers }: ReleaseSignersRequest,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<ReleaseSignersView> {
    return this.answer(response, await this.commands.setSigners(signers, caller));
  }

  @Post('catalogue')
  @HttpCode(200)
  @RoleEverywhere('admin')
  @KeyedCommand()
  @Documented({
    id: 'importReleaseCatalogue',
    tag: 'releases',
    records: 'end',
    summary: 'Import a signed catalogue of releases',
    description:
      'Refused unless a trusted key has signed it, it has not expired, and its sequence is later than that of the last one of its signer.',
    answers: [{ status: 200, description: 'Its releases are known', schema: ReleaseSignersView }],
    refusals: [
      'release.catalogue-unsigned',
      'release.catalogue-invalid',
      'release.catalogue-expired',
      'release.catalogue-replayed',
      'release.too-many',
      ...CHANGE_REFUSALS,
    ],
  })
  async accept(
    @Body({ schema: ReleaseCatalogueRequest }) request: ReleaseCatalogueRequest,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<ReleaseSignersView> {
    return this.answer(response, await this.commands.accept(request, caller));
  }

  private answer(response: Exchange['response'], { seq, state }: Decided<OwnReleases>): ReleaseSignersView {
    showSeq(response, seq);
    return signersView(state, this.clock.now());
  }
}
