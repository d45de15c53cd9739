import { describe, expect, it } from '@jest/globals';
import type { ConditionFacts } from './condition.facts.js';
import { MADE, minutesAgo, inDays, node, away, instead, upgrade, of, stateOf } from './conditions.fixtures.js';

describe('a condition', () => {
  it('Available is True while a majority of control planes is Ready, and says when it was lost', () => {
    const first = node('cp-1', { isReady: false, since: minutesAgo(9) });
    const second = node('cp-2', { isReady: false, since: minutesAgo(4) });
    expect(of({ nodes: instead(first) }, 'Available').status).toBe('True');
    expect(of({ nodes: instead(first, second) }, 'Available')).toMatchObject({
      status: 'False',
      lastTransitionTime: minutesAgo(4),
    });
  });

  it('Available of a single control plane that an upgrade restarts does not ask for a restore of etcd', () => {
    const nodes = [node('cp-1', away), node('w-1')];
    const available = (facts: Partial<ConditionFacts>) => {
      const { status, reason, message } = of({ nodes, ...facts }, 'Available');
      return [stateOf({ nodes, ...facts }), status, reason, message];
    };
    expect(available(upgrade('Running'))).toEqual([
      'Maintaining',
      'False',
      'ControlPlanesNotReady',
      'the only control plane restarts during the upgrade: the Kubernetes API may not answer meanwhile',
    ]);
    expect(available(upgrade('Halted')).slice(0, 3)).toEqual(['Degraded', 'False', 'QuorumLost']);
    expect(available({}).slice(0, 3)).toEqual(['Degraded', 'False', 'QuorumLost']);
  });

  it('Available never advises a restore of etcd where only the change of a control plane is not done', () => {
    const nodes = [node('cp-1', { ...away, isBeingChanged: true }), node('w-1')];
    for (const phase of ['Halted', 'Aborted'] as const) {
      const { reason, message } = of({ nodes, ...upgrade(phase) }, 'Available');
      expect([reason, message]).toEqual([
        'ControlPlanesNotReady',
        expect.stringMatching(/^the change of cp-1 is not done: .+ See "fairlead upgrade status \S+"$/),
      ]);
      expect(message).not.toContain('snapshot');
    }
    const lost = [node('cp-1', { ...away, isBeingChanged: true, isLost: true }), node('w-1')];
    expect(of({ nodes: lost, ...upgrade('Halted') }, 'Available').reason).toBe('QuorumLost');
  });

  it('NodesReady of nodes that an upgrade changes names the upgrade, not their hosts', () => {
    const nodes = instead(node('w-1', { ...away, isBeingChanged: true }));
    for (const type of ['NodesReady', 'Ready'] as const)
      expect(of({ nodes, ...upgrade('Running') }, type)).toMatchObject({
        reason: 'NodesChanging',
        message: expect.stringMatching(/^being changed: w-1\. See "fairlead upgrade status/),
      });
  });

  it('Upgrading of an upgrade that was aborted among its nodes names the version to finish with', () => {
    const nodes = instead(node('w-1', { kubelet: 'v1.33.13' }));
    expect(of({ nodes, ...upgrade('Aborted') }, 'Upgrading').message).toMatch(
      /Finish the upgrade with "fairlead upgrade start \S+ --to v\d+\.\d+\.\d+"$/,
    );
  });

  it('CertificatesValid is False while a kubelet has not renewed its certificate in time', () => {
    const kubelet = (days: number) => [{ node: 'w-1', name: 'kubelet', expiresAt: inDays(days) }];
    expect(of({ certificates: kubelet(31) }, 'CertificatesValid').status).toBe('True');
    expect(of({ certificates: kubelet(20) }, 'CertificatesValid')).toMatchObject({
      status: 'False',
      reason: 'CertificatesEnding',
      message: expect.stringContaining('the kubelets of w-1 have not renewed their certificates'),
      lastTransitionTime: inDays(-10),
    });
  });

  it('CertificatesValid says since when certificates have ended, that of Fairlead among them, and the way out', () => {
    const ended = (name: string, days: number) => ({ node: 'cp-1', name, expiresAt: inDays(days) });
    const certificates = [ended('apiserver', -2), ended('admin.conf', -1), ended('ca', 300)];
    expect(of({ certificates }, 'CertificatesValid').message).toBe(
      `apiserver on cp-1 ended at ${inDays(-2)}, 2 days ago, and with admin.conf the client certificate by which Fairlead reaches the API. "fairlead certificates renew" renews them through the agents, without the API`,
    );
    expect(of({ certificates: [ended('apiserver', -1)] }, 'CertificatesValid').message).not.toContain('admin.conf');
  });

  it('CertificatesValid names the nodes whose kubelets cannot reach the API any longer, and how to replace them', () => {
    const certificates = [{ node: 'w-1', name: 'kubelet', expiresAt: inDays(-3) }];
    expect(of({ certificates }, 'CertificatesValid').message).toBe(
      'the client certificates of the kubelets of w-1 have ended, so that the API refuses them. Replace the nodes with "fairlead node replace"',
    );
  });

  it('CertificatesValid says that the kubelets of control planes are renewed with the other certificates', () => {
    const ended = (node: string, name: string) => ({ node, name, expiresAt: inDays(-3) });
    const certificates = [ended('cp-1', 'apiserver'), ended('cp-1', 'kubelet'), ended('w-1', 'kubelet')];
    const { message } = of({ certificates }, 'CertificatesValid');
    expect(message).toContain('the kubelets of cp-1 have ended, so that the API refuses them. "fairlead certificates');
    expect(message).toContain('the kubelets of w-1 have ended, so that the API refuses them. Replace the nodes');
  });

  it('CertificatesValid names an authority that expires, half a year before, and does not send to a renewal that would not help', () => {
    const of3 = (days: number) =>
      ['cp-1', 'cp-2', 'cp-3'].map((one) => ({ node: one, name: 'ca', expiresAt: inDays(days) }));
    expect(of({ certificates: of3(181) }, 'CertificatesValid').status).toBe('True');
    const { status, message } = of({ certificates: of3(100) }, 'CertificatesValid');
    expect([status, message]).toEqual([
      'False',
      expect.stringMatching(/^the certificate authority ca expires at .*no renewal replaces it. Rotate it by hand/),
    ]);
    expect(message).not.toContain('certificates renew');
    expect(of({ certificates: of3(-2) }, 'CertificatesValid').message).toContain('ca ended at');
  });

  it('names a few nodes of many', () => {
    const nodes = Array.from({ length: 500 }, (_, at) => node(`w-${at}`, away));
    expect(of({ nodes }, 'NodesReady').message).toMatch(/^not Ready: w-0, w-1, w-2, w-3, w-4 and 495 more\./u);
  });
});

describe('the condition CloudController', () => {
  const ADDON_VIEW = { name: 'cloud-controller', version: '1.0.0', revision: 1, since: MADE, message: 'no chart' };
  const withController = (phase: 'Deployed' | 'Failed' | 'Installing') => ({
    cloud: { provider: 'lab', declared: true },
    addons: { addons: [], releases: [{ ...ADDON_VIEW, phase }] },
  });

  it.each([
    ['Deployed', { status: 'True' }],
    ['Installing', { status: 'Unknown', reason: 'InProgress' }],
    ['Failed', { status: 'False', reason: 'CloudControllerFailed', message: 'no chart' }],
  ] as const)('of a cluster whose cloud controller is %s says so [CB-Ladybug 24]', (phase, expected) => {
    expect(of(withController(phase), 'CloudController')).toMatchObject(expected);
  });

  it('is Unsupported where the provider has none, without calling the cluster unhealthy [CB-Ladybug 24]', () => {
    const facts = { cloud: { provider: 'ssh', declared: false } };
    expect(of(facts, 'CloudController')).toMatchObject({ status: 'False', reason: 'Unsupported' });
    expect(stateOf(facts)).toBe('Running');
    expect(of({}, 'CloudController')).toBeUndefined();
  });
});
