import {
  APPLICATION_SECRETS_OWNER,
  applicationSecretRef,
  CONNECTIONS_STREAM,
  refuse,
  type ApplicationName,
  type ApplicationRequest,
} from '@fairlead/contracts';
import type { RegisteredApplications } from '@fairlead/domain';
import { HANDLE, type Decided, type Handle } from '@fairlead/event-sourcing/jetstream';
import { SECRETS, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import validRange from 'semver/ranges/valid.js';
import { certificateFault } from '@fairlead/parsers/certificates';
import { causeOf, type Caller } from '../http/caller.js';
import { unwrap, RefusalError } from '../http/refusal.error.js';
import {
  applications,
  type RegisterApplication,
  type RemoveApplication,
  type SyncApplication,
} from './applications.decider.js';

@Injectable()
export class ApplicationCommands {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(SECRETS) private readonly secrets: SecretStore,
  ) {}

  async register(
    application: ApplicationName,
    { password, ...settings }: ApplicationRequest,
    caller: Caller,
  ): Promise<Decided<RegisteredApplications>> {
    const { range, ca } = settings;
    if (validRange(range) === null) throw new RefusalError(refuse('application.range-invalid', { range }, 'range'));
    const reason = ca === undefined ? undefined : certificateFault(ca);
    if (reason !== undefined) throw new RefusalError(refuse('application.ca-invalid', { reason }, 'ca'));
    const decided = await this.decide({ type: 'RegisterApplication', data: { application, settings } }, caller);
    // Nothing is sealed for a request that is refused.
    if (password === undefined) await this.secrets.delete(applicationSecretRef(application));
    else await this.secrets.put(applicationSecretRef(application), password, APPLICATION_SECRETS_OWNER);
    return decided;
  }

  /** Asks infra-svc to read the repository now. */
  sync(application: ApplicationName, caller: Caller): Promise<Decided<RegisteredApplications>> {
    return this.decide({ type: 'SyncApplication', data: { application } }, caller);
  }

  async remove(application: ApplicationName, caller: Caller): Promise<Decided<RegisteredApplications>> {
    const decided = await this.decide({ type: 'RemoveApplication', data: { application } }, caller);
    await this.secrets.delete(applicationSecretRef(application));
    return decided;
  }

  private async decide(
    command: RegisterApplication | SyncApplication | RemoveApplication,
    caller: Caller,
  ): Promise<Decided<RegisteredApplications>> {
    return unwrap(await this.handle(applications, CONNECTIONS_STREAM, command, causeOf(caller)));
  }
}
