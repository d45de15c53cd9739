import { FoundService, PUBLISHED_SERVICES_MAX, REFUSED_SERVICES_MAX, RefusedService } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { findingsText, NO_SERVICES, serviceFindings, type ListedService } from './services.planner.js';

const listed = (change: Partial<ListedService> = {}): ListedService => ({
  namespace: 'monitoring',
  name: 'grafana',
  createdMs: 0,
  type: 'ClusterIP',
  address: '10.96.0.20',
  ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
  annotations: {},
  ...change,
});
const annotated = (annotations: ListedService['annotations']) => serviceFindings([listed({ annotations })], []);
const reasons = (services: readonly ListedService[], taken: readonly string[] = []) =>
  serviceFindings(services, taken).refused.map(({ namespace, name, reason }) => `${namespace}/${name} ${reason}`);

describe('a Service that asks to be published', () => {
  it('is recorded with the name, label, icon and description that its annotations give [azimuth 18]', () => {
    const { services, refused } = annotated({
      name: 'dashboards',
      label: 'Our dashboards',
      icon: 'https://example.org/icon.svg',
      description: 'What happens in the cluster',
      port: 'http',
      groups: '/team-b, /team-a',
    });
    expect(refused).toEqual([]);
    expect(services).toEqual([
      {
        namespace: 'monitoring',
        name: 'grafana',
        subdomain: 'dashboards',
        label: 'Our dashboards',
        icon: 'https://example.org/icon.svg',
        description: 'What happens in the cluster',
        address: '10.96.0.20',
        port: 80,
        groups: ['/team-a', '/team-b'],
      },
    ]);
  });

  it('has its own name as subdomain and label, and its only port, where it has no annotations [azimuth 18]', () => {
    expect(annotated({}).services).toEqual([
      {
        namespace: 'monitoring',
        name: 'grafana',
        subdomain: 'grafana',
        label: 'grafana',
        address: '10.96.0.20',
        port: 80,
      },
    ]);
  });

  it.each([
    ['a subdomain of two labels', { name: 'a.b' }],
    ['a subdomain in upper case', { name: 'Grafana' }],
    ['no subdomain', { name: '' }],
    ['a subdomain that is too long', { name: 'a'.repeat(41) }],
    ['a label with a line break', { label: 'Grafana\nStartLimitIntervalSec=0' }],
    ['a label that is too long', { label: 'a'.repeat(65) }],
    ['an icon that is a script', { icon: 'javascript:alert(1)' }],
    ['an icon without TLS', { icon: 'http://example.org/a.svg' }],
    ['an icon that leaves its attribute', { icon: 'https://example.org/a.svg" onload="alert(1)' }],
    ['a description that is too long', { description: 'a'.repeat(301) }],
    ['groups that are no paths', { groups: 'team-a' }],
    ['an empty group', { groups: '/team-a,,' }],
    ['too many groups', { groups: Array.from({ length: 100_000 }, (_, at) => `/g${at}`).join(',') }],
    ['a port that it does not have', { port: '8080' }],
  ])('is refused with the annotation that is wrong: %s', (_what, annotations) => {
    const { services, refused } = annotated(annotations);
    expect([services, refused.map(({ reason }) => reason)]).toEqual([[], ['Invalid']]);
    const [field = ''] = Object.keys(annotations);
    expect(refused[0]?.message).toContain(`fairlead.dev/publish-${field} `);
  });

  it.each(['', 'None', '10.96.0.20 -o ProxyCommand=true', '10.96.0.20\nExecStartPre=/bin/true', 'localhost'])(
    'is refused with an address that is none: %j',
    (address) => expect(serviceFindings([listed({ address })], []).services).toEqual([]),
  );

  it('must say which of its TCP ports is meant', () => {
    const ports = [
      { name: 'http', port: 80, protocol: 'TCP' },
      { name: 'metrics', port: 9090, protocol: 'TCP' },
      { name: 'dns', port: 53, protocol: 'UDP' },
    ];
    const portOf = (port?: string) =>
      serviceFindings([listed({ ports, annotations: port === undefined ? {} : { port } })], []).services[0]?.port;
    expect([portOf(), portOf('metrics'), portOf('9090'), portOf('dns'), portOf('53')]).toEqual([
      undefined,
      9090,
      9090,
      undefined,
      undefined,
    ]);
  });

  it('takes no name that an older one has, that the API has, or that the manifest declares', () => {
    const older = listed({ namespace: 'team-b', createdMs: 1 });
    const younger = listed({ namespace: 'team-a', createdMs: 2 });
    expect(serviceFindings([younger, older], []).services.map(({ namespace }) => namespace)).toEqual(['team-b']);
    expect(reasons([younger, older])).toEqual(['team-a/grafana NameTaken']);
    expect(reasons([listed({ annotations: { name: 'api' } })])).toEqual(['monitoring/grafana NameTaken']);
    expect(reasons([listed()], ['grafana'])).toEqual(['monitoring/grafana NameTaken']);
  });

  it('has a place among the first ones only, and what is recorded is bounded', () => {
    const many = Array.from({ length: 100 }, (_, at) => listed({ name: `s-${at}`, createdMs: at }));
    const findings = serviceFindings(many.toReversed(), []);
    expect(findings.services.map(({ name }) => name)).toEqual(
      many.slice(0, PUBLISHED_SERVICES_MAX).map(({ name }) => name),
    );
    expect(findings.refused).toHaveLength(REFUSED_SERVICES_MAX);
    for (const service of findings.services) expect(FoundService.safeParse(service).success).toBe(true);
    for (const refused of findings.refused) expect(RefusedService.safeParse(refused).success).toBe(true);
    expect(
      serviceFindings(
        many,
        Array.from({ length: 49 }, (_, at) => `d-${at}`),
      ).services,
    ).toHaveLength(1);
  });

  it('is ignored where not even its name can be recorded', () =>
    expect(serviceFindings([listed({ name: 'a b' }), listed({ namespace: '' })], [])).toEqual(NO_SERVICES));

  it('is the same to the record, whatever the order of its fields is', () => {
    const one = serviceFindings([listed()], []);
    const other = JSON.parse(JSON.stringify(one), (_key, value: unknown) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).toReversed())
        : value,
    ) as typeof one;
    expect(findingsText(other)).toBe(findingsText(one));
    expect(findingsText(NO_SERVICES)).toBe('');
  });
});
