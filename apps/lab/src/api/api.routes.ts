import * as z from 'zod';
import { IMAGES, REGIONS, SPECS, imageNamed, regionNamed } from '../cloud/catalogue.js';
import { CloudFault, notFound } from '../cloud/cloud.fault.js';
import { FaultList, type Faults } from '../faults/faults.js';
import { GroupRequest, type Groups } from '../cloud/groups.js';
import { LoadBalancerRequest, type LoadBalancers } from '../cloud/load.balancers.js';
import { machineView } from '../cloud/machine.record.js';
import { ReservationRequest, type Reservations } from '../cloud/reservations.js';
import type { Resources } from '../cloud/resources.js';
import type { Stats } from '../stats/stats.js';
import type { Clusters } from '../clusters/clusters.js';
import type { ApiAnswer, ApiRequest, Route } from './api.router.js';

export interface Cloud {
  readonly networks: Resources<object>;
  readonly firewalls: Resources<object>;
  readonly sshKeys: Resources<object>;
  readonly groups: Groups;
  readonly reservations: Reservations;
  readonly loadBalancers: LoadBalancers;
  readonly clusters: Clusters;
  readonly faults: Faults;
  readonly stats: Stats;
  /** Returns how to reach the simulated identity provider, or undefined if none runs. */
  identity(): object | undefined;
  /** Applies armed faults that affect running hosts, such as lost hosts and hung container runtimes. */
  applyFaults(): Promise<void>;
}

const LONG_POLL_MAX_MS = 10_000;

const Since = z.object({
  changedSince: z.coerce.number().int().min(0).optional(),
  waitMs: z.coerce.number().int().min(0).max(LONG_POLL_MAX_MS).default(0),
});

const Power = z.strictObject({ action: z.enum(['start', 'stop', 'reboot', 'power-cut', 'partition', 'heal', 'move']) });

const ok = (body: unknown): ApiAnswer => ({ status: 200, body });
const GONE: ApiAnswer = { status: 204 };

export const cloudRoutes = (cloud: Cloud): readonly Route[] => [
  ...catalogueRoutes(),
  ...resourceRoutes('networks', cloud.networks),
  ...resourceRoutes('firewalls', cloud.firewalls),
  ...resourceRoutes('ssh-keys', cloud.sshKeys),
  ...groupRoutes(cloud),
  ...machineRoutes(cloud),
  ...loadBalancerRoutes(cloud),
  ...reservationRoutes(cloud),
  ...identityRoutes(cloud),
  ...testRoutes(cloud),
];

const identityRoutes = ({ identity }: Cloud): readonly Route[] => [
  {
    method: 'GET',
    path: '/v1/identity',
    handle: () => {
      const access = identity();
      if (access === undefined) throw notFound('the identity provider');
      return ok(access);
    },
  },
];

const catalogueRoutes = (): readonly Route[] => [
  { method: 'GET', path: '/v1/regions', handle: () => ok({ items: REGIONS }) },
  {
    method: 'GET',
    path: '/v1/regions/:name',
    handle: ({ parameters: { name = '' } }) => {
      const region = regionNamed(name);
      if (region === undefined) throw notFound(`region ${name}`);
      return ok(region);
    },
  },
  { method: 'GET', path: '/v1/specs', handle: () => ok({ items: SPECS }) },
  { method: 'GET', path: '/v1/images', handle: () => ok({ items: IMAGES }) },
  {
    method: 'GET',
    path: '/v1/images/:name',
    handle: ({ parameters: { name = '' } }) => {
      const image = imageNamed(name);
      if (image === undefined) throw notFound(`image ${name}`);
      return ok(image);
    },
  },
];

const resourceRoutes = (kind: string, resources: Resources<object>): readonly Route[] => [
  { method: 'GET', path: `/v1/${kind}/:name`, handle: ({ parameters }) => ok(resources.get(parameters['name'] ?? '')) },
  {
    method: 'PUT',
    path: `/v1/${kind}/:name`,
    handle: ({ parameters, body }) => ok(resources.put(parameters['name'] ?? '', body)),
  },
  {
    method: 'DELETE',
    path: `/v1/${kind}/:name`,
    handle: ({ parameters }) => {
      resources.remove(parameters['name'] ?? '');
      return GONE;
    },
  },
];

const groupRoutes = ({ groups }: Cloud): readonly Route[] => [
  {
    method: 'PUT',
    path: '/v1/groups/:group',
    handle: ({ parameters, body }) => ok(groups.put(parameters['group'] ?? '', GroupRequest.parse(body))),
  },
  {
    method: 'GET',
    path: '/v1/groups/:group',
    handle: async ({ parameters: { group = '' }, query, signal }) => {
      const { changedSince, waitMs } = Since.parse(Object.fromEntries(query));
      if (changedSince === undefined) return ok(groups.get(group));
      return ok(await groups.getChanged(group, changedSince, waitMs, signal));
    },
  },
  {
    method: 'DELETE',
    path: '/v1/groups/:group',
    handle: async ({ parameters }) => {
      await groups.delete(parameters['group'] ?? '');
      return GONE;
    },
  },
];

const machineRoutes = ({ groups }: Cloud): readonly Route[] => [
  {
    method: 'GET',
    path: '/v1/machines',
    handle: () => ok({ items: groups.list() }),
  },
  {
    method: 'GET',
    path: '/v1/machines/:id',
    handle: ({ parameters }) => ok(machineView(groups.machine(parameters['id'] ?? '').record)),
  },
  {
    method: 'DELETE',
    path: '/v1/machines/:id',
    handle: async ({ parameters }) => {
      await groups.deleteMachine(parameters['id'] ?? '');
      return GONE;
    },
  },
  {
    method: 'POST',
    path: '/v1/machines/:id/power',
    handle: async ({ parameters, body }) => {
      const machine = groups.machine(parameters['id'] ?? '');
      await machine.power(Power.parse(body).action);
      return ok(machineView(machine.record));
    },
  },
  {
    method: 'GET',
    path: '/v1/machines/:id/console',
    handle: ({ parameters }) => {
      const { record, running } = groups.machine(parameters['id'] ?? '');
      return ok({ machine: record.request.name, simulation: 'Fairlead lab', text: running?.host.console() ?? '' });
    },
  },
];

const loadBalancerRoutes = ({ loadBalancers }: Cloud): readonly Route[] => [
  {
    method: 'PUT',
    path: '/v1/load-balancers/:name',
    handle: async ({ parameters, body }: ApiRequest) =>
      ok(await loadBalancers.put(parameters['name'] ?? '', LoadBalancerRequest.parse(body))),
  },
  { method: 'GET', path: '/v1/load-balancers', handle: () => ok({ items: loadBalancers.list() }) },
  {
    method: 'GET',
    path: '/v1/load-balancers/:name',
    handle: ({ parameters }) => ok(loadBalancers.get(parameters['name'] ?? '')),
  },
  {
    method: 'DELETE',
    path: '/v1/load-balancers/:name',
    handle: async ({ parameters }) => {
      await loadBalancers.delete(parameters['name'] ?? '');
      return GONE;
    },
  },
];

const reservationRoutes = ({ reservations }: Cloud): readonly Route[] => [
  { method: 'GET', path: '/v1/reservations', handle: () => ok({ items: reservations.list() }) },
  {
    method: 'PUT',
    path: '/v1/reservations/:name',
    handle: ({ parameters, body }) => ok(reservations.put(parameters['name'] ?? '', ReservationRequest.parse(body))),
  },
  {
    method: 'GET',
    path: '/v1/reservations/:name',
    handle: ({ parameters }) => ok(reservations.get(parameters['name'] ?? '')),
  },
  {
    method: 'DELETE',
    path: '/v1/reservations/:name',
    handle: ({ parameters }) => {
      reservations.release(parameters['name'] ?? '');
      return GONE;
    },
  },
];

/** Routes for tests, which a real cloud does not have. */
const testRoutes = ({ faults, stats, groups, loadBalancers, clusters, applyFaults }: Cloud): readonly Route[] => [
  { method: 'GET', path: '/v1/faults', handle: () => ok({ items: faults.list() }) },
  {
    method: 'PUT',
    path: '/v1/faults',
    handle: async ({ body }) => {
      const list = FaultList.parse(body);
      const commandless = list.items.find(({ kind, command }) => kind !== 'command-failure' && command !== undefined);
      if (commandless !== undefined) throw new CloudFault(400, 'malformed', `a ${commandless.kind} has no command`);
      faults.replace(list.items);
      await applyFaults();
      return ok({ items: faults.list() });
    },
  },
  {
    method: 'DELETE',
    path: '/v1/faults',
    handle: () => {
      faults.replace([]);
      return GONE;
    },
  },
  {
    method: 'GET',
    path: '/v1/stats',
    handle: ({ query }) => {
      const { commands: commandCount, ...counted } = stats.counts();
      return ok({
        commandCount,
        ...counted,
        now: {
          groups: groups.groupCount(),
          machines: groups.all().length,
          loadBalancers: loadBalancers.list().length,
          clusters: clusters.count(),
        },
        // There can be thousands of commands; callers that need only the counts pass `commands=none`.
        commands: query.get('commands') === 'none' ? [] : stats.commandsOf(query.get('machine') ?? undefined),
        cpuMs: Math.round((process.cpuUsage().user + process.cpuUsage().system) / 1_000),
        memoryBytes: process.memoryUsage().rss,
      });
    },
  },
];
