import type { EventData } from '@fairlead/contracts';
import type { Publication } from '@fairlead/domain';
import { describe, expect, it } from '@jest/globals';
import { serviceViews } from './services.view.js';

const GRAFANA: EventData<'PublishedServicesFound'>['services'][number] = {
  namespace: 'monitoring',
  name: 'grafana',
  subdomain: 'dashboards',
  label: 'Grafana',
  icon: 'https://example.org/grafana.svg',
  description: 'Dashboards',
  address: '10.96.0.20',
  port: 80,
};
const FQDN = 'dashboards.demo.example.org';
const reserved = { name: 'api.demo.example.org', port: 8443 } as NonNullable<Publication['reserved']>;
const found = { services: [GRAFANA], refused: [] };
const selection = { realm: null, groupsClaim: 'groups' };
const published: Publication = { reserved, found, services: [{ ...GRAFANA, fqdn: FQDN }] };

describe('the published services of a cluster', () => {
  it('are shown with subdomain, fqdn, label, icon and description, by namespace and name [azimuth 18]', () => {
    const held = { [FQDN]: { isAvailable: true, since: '2026-11-21T08:00:00.000Z' } };
    expect(serviceViews({ publication: { ...published, heldServices: held }, selection })).toEqual([
      {
        key: 'monitoring-grafana',
        namespace: 'monitoring',
        name: 'grafana',
        state: 'Published',
        available: true,
        subdomain: 'dashboards',
        fqdn: FQDN,
        url: `https://${FQDN}:8443`,
        label: 'Grafana',
        icon: 'https://example.org/grafana.svg',
        description: 'Dashboards',
        groups: [],
        message: '',
      },
    ]);
  });

  it('are not available while no control plane holds their name', () => {
    expect(serviceViews({ publication: published, selection })?.[0]).toMatchObject({
      state: 'Published',
      available: false,
    });
  });

  it('say what they wait for', () => {
    const pending = (of: typeof selection | null) =>
      serviceViews({ publication: { reserved, found }, selection: of })?.[0];
    expect(pending(selection)).toMatchObject({
      state: 'Pending',
      message: expect.stringContaining('its client at the realm'),
    });
    expect(pending(null)).toMatchObject({
      state: 'Pending',
      message: expect.stringContaining('spec.authentication.oidc'),
    });
  });

  it('say why one is refused', () => {
    const refused = [{ namespace: 'team-b', name: 'grafana', reason: 'NameTaken' as const, message: 'it is used' }];
    expect(serviceViews({ publication: { reserved, found: { services: [], refused } }, selection })).toMatchObject([
      { key: 'team-b-grafana', state: 'Refused', url: '', message: 'NameTaken: it is used' },
    ]);
  });

  it('are absent where none ever asked', () =>
    expect(serviceViews({ publication: { reserved }, selection })).toBeUndefined());
});
