import {
  ApplicationList,
  ApplicationPath,
  ApplicationRequest,
  ApplicationVersionPath,
  ApplicationVersionView,
  ApplicationView,
  ListQuery,
  ReadQuery,
  refuse,
  StatusView,
} from '@fairlead/contracts';
import { POSITIONS, type Positions } from '@fairlead/event-sourcing/jetstream';
import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, Put, Query } from '@nestjs/common';
import { RoleEverywhere, RoleInSomeNamespace } from '../access/access.js';
import { accept, showSeq, untilShown } from '../http/answers.js';
import { FromExchange, type Exchange } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { KeyedCommand } from '../http/operator.command.js';
import { IsWhole, pageOf, pageRequest } from '../http/page.js';
import { RefusalError } from '../http/refusal.error.js';
import { ApplicationCommands } from './applications.commands.js';
import { ApplicationQueries } from './applications.queries.js';

@Controller(bothBases('applications'))
export class ApplicationsHttp {
  constructor(
    @Inject(ApplicationCommands) private readonly commands: ApplicationCommands,
    @Inject(POSITIONS) private readonly positions: Positions,
    @Inject(ApplicationQueries) private readonly queries: ApplicationQueries,
  ) {}

  @Get()
  @RoleInSomeNamespace('viewer')
  @Documented({
    id: 'listApplications',
    tag: 'applications',
    records: 'nothing',
    summary: 'The applications of the catalogue',
    answers: [{ status: 200, description: 'The applications, with their versions', schema: ApplicationList }],
    refusals: ['list.continue-invalid', 'wait.seq-ahead', 'wait.too-long'],
  })
  async list(
    @Query({ schema: ListQuery }) { minSeq = 0, ...query }: ListQuery,
    @IsWhole() isWhole: boolean,
  ): Promise<ApplicationList> {
    await untilShown(this.positions, minSeq);
    const request = pageRequest('applications', query, isWhole);
    const items = await this.queries.all();
    return { kind: 'ApplicationList', ...pageOf(request, [...items], { keyOf: ({ name }) => name }) };
  }

  @Get(':application')
  @RoleInSomeNamespace('viewer')
  @Documented({
    id: 'getApplication',
    tag: 'applications',
    records: 'nothing',
    summary: 'An application of the catalogue',
    answers: [{ status: 200, description: 'The application, with its versions', schema: ApplicationView }],
    refusals: ['application.not-found', 'wait.seq-ahead', 'wait.too-long'],
  })
  async get(
    @Param({ schema: ApplicationPath }) { application }: ApplicationPath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<ApplicationView> {
    await untilShown(this.positions, minSeq);
    return this.shown(application);
  }

  @Get(':application/versions/:version')
  @RoleInSomeNamespace('viewer')
  @Documented({
    id: 'getApplicationVersion',
    tag: 'applications',
    records: 'nothing',
    summary: 'A version of an application, with the schema of its values',
    answers: [{ status: 200, description: 'The version', schema: ApplicationVersionView }],
    refusals: ['application.not-found', 'application.version-not-found', 'wait.seq-ahead', 'wait.too-long'],
  })
  async version(
    @Param({ schema: ApplicationVersionPath }) { application, version }: ApplicationVersionPath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
  ): Promise<ApplicationVersionView> {
    await untilShown(this.positions, minSeq);
    await this.shown(application);
    const view = await this.queries.version(application, version);
    if (view === undefined) throw new RefusalError(refuse('application.version-not-found', { application, version }));
    return view;
  }

  @Put(':application')
  @RoleEverywhere('admin')
  @Documented({
    id: 'putApplication',
    tag: 'applications',
    records: 'work',
    summary: 'Register an application, or replace its settings',
    description:
      'infra-svc then reads the repository, and again every hour. Clusters install versions of it as add-ons of their manifests; registering changes no cluster.',
    answers: [{ status: 200, description: 'It is registered', schema: ApplicationView }],
    refusals: [
      'application.not-found',
      'application.range-invalid',
      'application.ca-invalid',
      'application.too-many',
      'conflict.concurrent',
      'wait.too-long',
    ],
  })
  async put(
    @Param({ schema: ApplicationPath }) { application }: ApplicationPath,
    @Body({ schema: ApplicationRequest }) request: ApplicationRequest,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<ApplicationView> {
    const { seq } = await this.commands.register(application, request, caller);
    accept(response, { seq, location: `/applications/${application}`, status: 200, waited: false });
    await untilShown(this.positions, seq);
    return this.shown(application);
  }

  @Post(':application/sync')
  @HttpCode(202)
  @RoleEverywhere('admin')
  @KeyedCommand()
  @Documented({
    id: 'syncApplication',
    tag: 'applications',
    records: 'work',
    summary: 'Read the repository of an application now',
    description: 'A version that is known with the same digest is not downloaded again.',
    answers: [{ status: 202, description: 'It will be synchronized', schema: StatusView }],
    refusals: ['application.not-found', ...CHANGE_REFUSALS],
  })
  async sync(
    @Param({ schema: ApplicationPath }) { application }: ApplicationPath,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<StatusView> {
    const { seq } = await this.commands.sync(application, caller);
    accept(response, { seq, location: `/applications/${application}`, status: 202, waited: false });
    return { kind: 'Status', code: 202, message: `Application '${application}' will be synchronized.` };
  }

  @Delete(':application')
  @HttpCode(200)
  @RoleEverywhere('admin')
  @Documented({
    id: 'deleteApplication',
    tag: 'applications',
    records: 'end',
    summary: 'Delete an application from the catalogue',
    answers: [{ status: 200, description: 'It is gone', schema: StatusView }],
    refusals: ['application.not-found', 'conflict.concurrent'],
  })
  async delete(
    @Param({ schema: ApplicationPath }) { application }: ApplicationPath,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<StatusView> {
    const { seq } = await this.commands.remove(application, caller);
    showSeq(response, seq);
    return { kind: 'Status', code: 200, message: `Application '${application}' is deleted.` };
  }

  private async shown(application: string): Promise<ApplicationView> {
    const view = await this.queries.one(application);
    if (view === undefined) throw new RefusalError(refuse('application.not-found', { application }));
    return view;
  }
}
