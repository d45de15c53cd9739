import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A simulation of the calls to Keystone, Nova, Neutron and Glance that the provider makes. No OpenStack code runs here:
 * responses follow the documentation of the APIs.
 */
type Row = Record<string, unknown> & { id: string };

export interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly body: unknown;
}

/** Applies to the next matching calls instead of a response. */
export interface CloudFault {
  readonly method: string;
  readonly path: RegExp;
  readonly times: number;
  /** Absent: there is no response. */
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The request takes effect nevertheless. */
  readonly isDone?: boolean;
}

export const CREDENTIAL = { id: 'a1b2c3d4'.repeat(4), secret: 'the-secret-of-the-credential' } as const;
export const PROJECT = 'f0'.repeat(16);

const ADDRESS_FIRST = 10;
const FLAVORS = [
  { id: '1', name: 'm1.small', vcpus: 1, ram: 2_048, disk: 10 },
  { id: '2', name: 'm1.medium', vcpus: 2, ram: 4_096, disk: 10 },
  { id: '3', name: 'm1.huge', vcpus: 64, ram: 8_388_608, disk: 10 },
] as const;

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Record<string, Record<string, unknown>>;
}

type Reply = readonly [status: number, body?: unknown];

const fault = (status: number, name: string, message: string): Reply => [status, { [name]: { code: status, message } }];
const neutronError = (status: number, type: string, message: string): Reply => [
  status,
  { NeutronError: { type, message, detail: '' } },
];

/** Singular names of Neutron's collections, and the defaults of new resources. */
const KINDS: Readonly<Record<string, { readonly one: string; readonly defaults: () => Record<string, unknown> }>> = {
  networks: { one: 'network', defaults: () => ({ subnets: [], tags: [] }) },
  subnets: { one: 'subnet', defaults: () => ({ tags: [] }) },
  routers: { one: 'router', defaults: () => ({ tags: [] }) },
  ports: { one: 'port', defaults: () => ({ device_id: '', allowed_address_pairs: [], tags: [] }) },
  floatingips: { one: 'floatingip', defaults: () => ({ tags: [] }) },
  'security-groups': { one: 'security_group', defaults: () => ({ tags: [], security_group_rules: [] }) },
  'security-group-rules': {
    one: 'security_group_rule',
    defaults: () => ({
      protocol: null,
      port_range_min: null,
      port_range_max: null,
      remote_group_id: null,
      remote_ip_prefix: null,
    }),
  },
};

export class SimulatedCloud {
  readonly exchanges: Exchange[] = [];
  readonly quotas = { instances: 100, cores: 200, ram: 1_000_000, floatingip: 50, port: 500 };
  faults: CloudFault[] = [];
  /** Names of servers that end in ERROR, with Nova's message. */
  readonly errors = new Map<string, string>();
  bootMs = 20;
  tokens = 0;
  private readonly valid = new Set<string>();
  private readonly rows = new Map<string, Row[]>();
  private readonly held = new Set<ServerResponse>();
  private address = ADDRESS_FIRST;
  private readonly server: HttpServer = createServer((request, response) => void this.serve(request, response));

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.all('networks').push({ id: randomUUID(), name: 'external', description: '', subnets: [], tags: [] });
    for (const version of ['12', '13'])
      this.all('images').push({
        id: randomUUID(),
        name: `debian-${version}`,
        status: 'active',
        os_distro: 'debian',
        os_version: version,
      });
  }

  async stop(): Promise<void> {
    for (const response of this.held) response.destroy();
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Every resource of the project by kind, except those that existed initially. */
  resources(): readonly string[] {
    return [...this.rows].flatMap(([kind, rows]) =>
      kind === 'images'
        ? []
        : rows.filter(({ name }) => name !== 'external').map(({ name }) => `${kind}/${String(name)}`),
    );
  }

  endTokens(): void {
    this.valid.clear();
  }

  all(kind: string): Row[] {
    const rows = this.rows.get(kind) ?? [];
    this.rows.set(kind, rows);
    return rows;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    let text = '';
    for await (const chunk of request) text += String(chunk);
    const { method = '' } = request;
    const asked = { method, path: url.pathname, query: url.searchParams, body: text === '' ? {} : JSON.parse(text) };
    const hit = this.faults.find((one) => one.times > 0 && one.method === method && one.path.test(request.url ?? ''));
    if (hit !== undefined) {
      this.faults = this.faults.map((one) => (one === hit ? { ...one, times: one.times - 1 } : one));
      if (hit.isDone === true) this.answer(asked, request);
      if (hit.status === undefined) return void this.held.add(response);
      response.writeHead(hit.status, { 'content-type': 'application/json', ...hit.headers });
      return void response.end(typeof hit.body === 'string' ? hit.body : JSON.stringify(hit.body ?? {}));
    }
    const [status, body] = this.answer(asked, request);
    this.exchanges.push({ method, path: url.pathname, status, body });
    const token =
      url.pathname === '/v3/auth/tokens' && status === 201 ? { 'x-subject-token': `token-${this.tokens}` } : {};
    response.writeHead(status, { 'content-type': 'application/json', 'x-openstack-request-id': 'req-1', ...token });
    response.end(body === undefined ? undefined : JSON.stringify(body));
  }

  private answer(asked: Asked, { headers }: IncomingMessage): Reply {
    if (asked.path === '/v3/auth/tokens') return this.authenticate(asked);
    if (!this.valid.has(String(headers['x-auth-token'])))
      return fault(401, 'error', 'The request you have made requires authentication.');
    const [, service, , ...path] = asked.path.split('/');
    if (service === 'compute') return this.nova(asked, path);
    if (service === 'image') return this.glance(asked, path);
    return this.neutron(asked, path);
  }

  private authenticate({ body }: Asked): Reply {
    const { application_credential: given } = (
      body as never as { auth: { identity: { application_credential: typeof CREDENTIAL } } }
    ).auth.identity;
    if (given.id !== CREDENTIAL.id || given.secret !== CREDENTIAL.secret)
      return fault(401, 'error', 'The request you have made requires authentication.');
    this.tokens += 1;
    this.valid.add(`token-${this.tokens}`);
    const endpoint = (type: string, url: string) => ({
      ...{ type, name: type, id: randomUUID() },
      endpoints: [
        {
          id: randomUUID(),
          interface: 'public',
          region_id: 'RegionOne',
          region: 'RegionOne',
          url: `${this.url}${url}`,
        },
      ],
    });
    const catalog = [
      endpoint('compute', '/compute/v2.1'),
      endpoint('network', '/network/v2.0'),
      endpoint('image', '/image/v2'),
    ];
    const expires = new Date(Date.now() + 3_600_000).toISOString();
    return [201, { token: { expires_at: expires, project: { id: PROJECT, name: 'tenant' }, catalog } }];
  }

  private glance({ query }: Asked, [, id]: readonly string[]): Reply {
    const images = this.all('images');
    if (id === undefined) return [200, { images: images.filter(({ name }) => name === query.get('name')) }];
    const found = images.find((image) => image.id === id);
    return found === undefined ? [404, '404 Not Found'] : [200, found];
  }

  private nova(asked: Asked, [kind = '', id, part]: readonly string[]): Reply {
    const { method, body } = asked;
    switch (kind) {
      case '':
        return [200, { version: { id: 'v2.1', status: 'CURRENT', version: '2.90', min_version: '2.1' } }];
      case 'flavors':
        return [200, { flavors: FLAVORS }];
      case 'os-availability-zone':
        return [200, { availabilityZoneInfo: [{ zoneName: 'nova', zoneState: { available: true }, hosts: null }] }];
      case 'limits':
        return [200, { limits: { rate: [], absolute: this.limits() } }];
      case 'os-keypairs':
        return this.keypairs(method, id, body['keypair']);
      case 'os-server-groups':
        return this.crud(asked, { kind: 'server_groups', one: 'server_group', id });
      default:
        return part === 'metadata' ? this.metadata(id, body) : this.servers(asked, id);
    }
  }

  private limits(): Readonly<Record<string, number>> {
    const used = this.all('servers');
    const { instances, cores, ram } = this.quotas;
    return {
      ...{ maxTotalInstances: instances, maxTotalCores: cores, maxTotalRAMSize: ram },
      ...{ totalInstancesUsed: used.length, totalCoresUsed: used.length, totalRAMUsed: used.length * 2_048 },
    };
  }

  private keypairs(method: string, id: string | undefined, given?: Record<string, unknown>): Reply {
    const rows = this.all('keypairs');
    const at = rows.findIndex(({ name }) => name === decodeURIComponent(id ?? String(given?.['name'])));
    if (method === 'GET' || method === 'DELETE') {
      if (at < 0) return fault(404, 'itemNotFound', `Keypair ${id} not found for user tenant`);
      return method === 'GET' ? [200, { keypair: rows[at] }] : (rows.splice(at, 1), [202]);
    }
    if (at >= 0) return fault(409, 'conflictingRequest', `Key pair '${String(given?.['name'])}' already exists.`);
    const row = { id: String(given?.['name']), ...given };
    rows.push(row);
    return [201, { keypair: row }];
  }

  private metadata(id: string | undefined, body: Asked['body']): Reply {
    const row = this.all('servers').find((server) => server.id === id);
    if (row === undefined) return fault(404, 'itemNotFound', `Instance ${id} could not be found.`);
    row['metadata'] = { ...(row['metadata'] as object), ...body['metadata'] };
    return [200, { metadata: row['metadata'] }];
  }

  private servers({ method, query, body }: Asked, id: string | undefined): Reply {
    const rows = this.all('servers');
    if (method === 'POST') return this.createServer(body['server'] ?? {});
    if (id === 'detail') {
      const [tag] = [query.get('tags')];
      return [
        200,
        {
          servers: rows.filter(({ tags }) => (tags as string[]).includes(tag ?? '')).map((row) => this.serverNow(row)),
        },
      ];
    }
    const row = rows.find((server) => server.id === id);
    if (row === undefined) return fault(404, 'itemNotFound', `Instance ${id} could not be found.`);
    if (method === 'PUT') Object.assign(row, body['server']);
    if (method !== 'DELETE') return [200, { server: this.serverNow(row) }];
    rows.splice(rows.indexOf(row), 1);
    for (const { id: port } of this.all('ports').filter(({ device_id: device }) => device === id)) this.dropPort(port);
    return [204];
  }

  private createServer(given: Record<string, unknown>): Reply {
    const { name, networks, metadata, tags, flavorRef, key_name: keyName } = given;
    const { instances } = this.quotas;
    const used = this.all('servers').length;
    if (used >= instances)
      return fault(
        403,
        'forbidden',
        `Quota exceeded for instances: Requested 1, but already used ${used} of ${instances} instances`,
      );
    if (!this.all('keypairs').some((pair) => pair['name'] === keyName))
      return fault(400, 'badRequest', 'Invalid key_name provided.');
    const id = randomUUID();
    const [{ uuid: network }] = networks as [{ uuid: string }];
    const port = this.makePort({ network_id: network, device_id: id, name: '', description: '' });
    const flavor = FLAVORS.find((one) => one.id === flavorRef);
    const message = this.errors.get(String(name));
    this.all('servers').push({
      ...{ id, name, metadata, tags, key_name: keyName, created: new Date().toISOString(), at: performance.now() },
      ...{
        status: 'BUILD',
        flavor: { original_name: flavor?.name },
        'OS-EXT-AZ:availability_zone': given['availability_zone'] ?? 'nova',
      },
      ...{
        'OS-EXT-STS:task_state': null,
        addresses: { [network]: [{ addr: addressOf(port), version: 4, 'OS-EXT-IPS:type': 'fixed' }] },
      },
      ...(message === undefined ? {} : { error: message }),
    });
    return [202, { server: { id, links: [] } }];
  }

  private serverNow({ at, error, ...row }: Row): Row {
    if (performance.now() - Number(at) < this.bootMs) return { ...row, addresses: {} } as Row;
    if (error === undefined) return { ...row, status: 'ACTIVE' } as Row;
    return { ...row, status: 'ERROR', fault: { code: 500, message: error, created: row['created'] } } as Row;
  }

  private neutron(asked: Asked, [kind = '', id, part, tag]: readonly string[]): Reply {
    if (kind === 'quotas') return [200, { quota: { floatingip: this.quotas.floatingip, port: this.quotas.port } }];
    if (part === 'tags') return this.tag(asked.method, kind, { id, tag: decodeURIComponent(tag ?? '') });
    if (part === 'add_router_interface') {
      const { subnet_id: subnet } = asked.body as never as { subnet_id: string };
      this.makePort({
        network_id: String(this.all('subnets').find((one) => one.id === subnet)?.['network_id']),
        device_id: id,
        name: '',
        description: '',
        fixed_ips: [{ subnet_id: subnet, ip_address: '' }],
      });
      return [200, { id, subnet_id: subnet }];
    }
    const { one } = KINDS[kind]!;
    const given = asked.body[one];
    if (asked.method === 'POST' && given !== undefined) return this.create(kind, one, given);
    if (asked.method === 'DELETE' && kind === 'ports') this.dropPort(id ?? '');
    if (asked.method === 'DELETE' && kind === 'security-group-rules') this.dropRule(id ?? '');
    return this.crud(asked, { kind, one, id });
  }

  private tag(
    method: string,
    kind: string,
    { id, tag }: { readonly id: string | undefined; readonly tag: string },
  ): Reply {
    const row = this.all(kind).find((one) => one.id === id);
    if (row === undefined)
      return neutronError(404, 'TagResourceNotFound', `Resource ${kind} ${id} could not be found.`);
    const others = (row['tags'] as string[]).filter((one) => one !== tag);
    row['tags'] = method === 'PUT' ? [...others, tag] : others;
    return [method === 'PUT' ? 201 : 204];
  }

  private create(kind: string, one: string, given: Record<string, unknown>): Reply {
    if (kind === 'ports') return [201, { port: this.makePort(given) }];
    const { floatingip } = this.quotas;
    if (kind === 'floatingips' && this.all(kind).length >= floatingip)
      return neutronError(409, 'OverQuota', "Quota exceeded for resources: ['floatingip'].");
    const row = { id: randomUUID(), ...KINDS[kind]!.defaults(), ...given };
    if (kind === 'floatingips') Object.assign(row, { floating_ip_address: `203.0.113.${this.next()}` });
    if (kind === 'subnets') {
      const network = this.all('networks').find(({ id }) => id === given['network_id']);
      (network?.['subnets'] as string[] | undefined)?.push(row.id);
    }
    if (kind === 'security-group-rules') {
      const group = this.all('security-groups').find(({ id }) => id === given['security_group_id']);
      (group?.['security_group_rules'] as Row[] | undefined)?.push(row);
      return [201, { [one]: row }];
    }
    this.all(kind).push(row);
    return [201, { [one]: row }];
  }

  private makePort(given: Record<string, unknown>): Row {
    const fixed = [
      {
        subnet_id: this.all('subnets').find((one) => one['network_id'] === given['network_id'])?.id ?? '',
        ip_address: `192.168.77.${this.next()}`,
      },
    ];
    const row = { id: randomUUID(), ...KINDS['ports']!.defaults(), ...given, fixed_ips: given['fixed_ips'] ?? fixed };
    if (
      Array.isArray(given['fixed_ips']) &&
      (given['fixed_ips'] as { ip_address?: string }[])[0]?.ip_address === undefined
    )
      Object.assign(row, { fixed_ips: fixed });
    this.all('ports').push(row);
    return row;
  }

  private dropPort(id: string): void {
    const rows = this.all('ports');
    this.rows.set(
      'ports',
      rows.filter((row) => row.id !== id),
    );
    for (const floating of this.all('floatingips')) if (floating['port_id'] === id) floating['port_id'] = null;
  }

  private dropRule(id: string): void {
    for (const group of this.all('security-groups'))
      group['security_group_rules'] = (group['security_group_rules'] as Row[]).filter((rule) => rule.id !== id);
  }

  /** Lists by equality with the query; finds, changes and deletes by ID. */
  private crud(
    { method, query, body }: Asked,
    { kind, one, id }: { readonly kind: string; readonly one: string; readonly id: string | undefined },
  ): Reply {
    const rows = this.all(kind);
    const wanted = [...query].filter(([name]) => !['project_id', 'fields', 'marker', 'limit'].includes(name));
    if (method === 'GET' && id === undefined)
      return [
        200,
        { [kind.replaceAll('-', '_')]: rows.filter((row) => wanted.every(([name, value]) => row[name] === value)) },
      ];
    if (method === 'POST') {
      const row = { id: randomUUID(), ...body[one] };
      rows.push(row);
      return [200, { [one]: row }];
    }
    const row = rows.find((each) => each.id === id);
    if (row === undefined)
      return method === 'DELETE' ? neutronError(404, 'NotFound', `${one} ${id} could not be found.`) : [404];
    if (method === 'PUT') Object.assign(row, body[one]);
    if (method === 'DELETE')
      this.rows.set(
        kind,
        rows.filter((each) => each !== row),
      );
    return method === 'DELETE' ? [204] : [200, { [one]: row }];
  }

  private next(): number {
    this.address += 1;
    return this.address;
  }
}

const addressOf = ({ fixed_ips: ips }: Row): string => (ips as { ip_address: string }[])[0]?.ip_address ?? '';
