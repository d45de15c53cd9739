import { lazy, Suspense, useEffect, useState, type ReactNode } from 'react';
import { isSignedOut } from '../api.js';
import { durationText } from '../format.js';
import { FleetAhead, FleetView } from '../fleet/fleet.view.js';
import { useReachability } from '../live.js';
import { usePlace } from '../place.js';
import { Mark, SignIn, useMay, useSignOut, useWhoami } from '../session/session.js';
import { Button, Clock, Empty, Failure, Icon, Link, Loading, useNow } from '../ui/ui.js';
import { nextTheme, themeNow } from './theme.js';

const ClusterView = lazy(() => import('../cluster/cluster.view.js'));
const OperationView = lazy(() => import('../operation/operation.view.js'));
const PlanView = lazy(() => import('../plan/plan.view.js'));
const CreateView = lazy(() => import('../create/create.view.js'));
const AuditView = lazy(() => import('../audit/audit.view.js'));
const ConnectionsView = lazy(() => import('../connections/connections.view.js'));
const InstallationView = lazy(() => import('../connections/installation.view.js'));
const Palette = lazy(() => import('./palette.js'));

const isFleet = ([noun]: readonly string[]): boolean => noun === undefined || noun === 'fleet';

const viewOf = (path: readonly string[]): ReactNode => {
  const [noun, namespace, cluster, part, id] = path;
  if (isFleet(path) || noun === 'sign-in' || noun === 'sign-in-refused') return <FleetView />;
  if (noun === 'connections') return <ConnectionsView name={namespace} />;
  if (noun === 'installation') return <InstallationView />;
  if (noun === 'create') return <CreateView />;
  if (noun !== 'clusters' || namespace === undefined || cluster === undefined)
    return <Empty title="There is no such view." />;
  const at = { namespace, cluster };
  if (part === 'edit') return <CreateView {...at} />;
  if (part === 'upgrade') return <PlanView {...at} />;
  if (part === 'upgrades' && id !== undefined) return <PlanView {...at} upgrade={id} />;
  if (part === 'operations' && id !== undefined) return <OperationView {...at} operation={id} />;
  if (part === 'audit') return <AuditView {...at} />;
  return <ClusterView key={`${namespace}/${cluster}`} {...at} tab={part ?? 'overview'} item={id} />;
};

export const App = () => {
  const who = useWhoami();
  const { path } = usePlace();
  if (isSignedOut(who.error)) return <SignIn />;
  if (who.data === undefined)
    return (
      <main className="sign-in">
        {isFleet(path) && who.error === null ? <FleetAhead /> : null}
        {who.error === null ? <Loading what="the page" /> : <Failure error={who.error} />}
        <StaleBanner />
      </main>
    );
  return <Shell name={who.data.name} />;
};

const Shell = ({ name }: { readonly name: string }) => {
  const { path } = usePlace();
  const [isPaletteOpen, openPalette] = useState(false);
  const noun = path[0] ?? 'fleet';
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (!(event.key === 'k' && (event.ctrlKey || event.metaKey))) return;
      event.preventDefault();
      openPalette((isOpen) => !isOpen);
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
  useEffect(() => {
    document.title = ['Fairlead', ...path.slice(1, 3)].toReversed().join(' · ');
  }, [path]);
  return (
    <div className="shell">
      <a className="skip" href="#main" onClick={skipToMain}>
        Skip to the content
      </a>
      <nav className="side" aria-label="Views">
        <Link to={[]} className="brand" aria-label="Fairlead, fleet">
          <Mark /> <span>Fairlead</span>
        </Link>
        <NavLinks noun={noun} />
        <div className="side-foot">
          <Account name={name} onPalette={() => openPalette(true)} />
        </div>
      </nav>
      <div className="stage">
        <StaleBanner />
        <main id="main" tabIndex={-1}>
          <Suspense fallback={<Loading what="the view" />}>{viewOf(path)}</Suspense>
        </main>
      </div>
      {isPaletteOpen ? (
        <Suspense fallback={null}>
          <Palette onClose={() => openPalette(false)} />
        </Suspense>
      ) : null}
    </div>
  );
};

const skipToMain = (event: { preventDefault: () => void }): void => {
  event.preventDefault(); // The fragment is the place.
  document.getElementById('main')?.focus();
};

const NavLinks = ({ noun }: { readonly noun: string }) => {
  const mayDo = useMay();
  const { data } = useWhoami();
  const entry = (to: readonly string[], name: string, icon: 'clusters' | 'plug' | 'plus' | 'gear', isHere: boolean) => (
    <Link to={to} className="nav" aria-current={isHere ? 'page' : undefined}>
      <Icon name={icon} /> <span>{name}</span>
    </Link>
  );
  const mayCreate = data?.roles.some(({ namespace }) => mayDo('operator', namespace)) ?? false;
  return (
    <>
      {entry([], 'Fleet', 'clusters', noun === 'fleet' || noun === 'clusters')}
      {mayCreate ? entry(['create'], 'Create', 'plus', noun === 'create') : null}
      {entry(['connections'], 'Connections', 'plug', noun === 'connections')}
      {entry(['installation'], 'Installation', 'gear', noun === 'installation')}
    </>
  );
};

const Account = ({ name, onPalette }: { readonly name: string; readonly onPalette: () => void }) => {
  const signOut = useSignOut();
  const [theme, setTheme] = useState(themeNow);
  return (
    <>
      <Button look="quiet" icon="search" onClick={onPalette} aria-keyshortcuts="Control+K">
        <span>Search</span> <kbd aria-hidden="true">Ctrl K</kbd>
      </Button>
      <Button look="quiet" icon="moon" onClick={() => setTheme(nextTheme())} title="Colours">
        <span>{theme === 'system' ? 'System theme' : theme === 'dark' ? 'Dark' : 'Light'}</span>
      </Button>
      <Button look="quiet" icon="out" onClick={() => signOut.mutate()}>
        <span>Sign out {name}</span>
      </Button>
    </>
  );
};

/** What the reader sees is old; it says since when, and goes away by itself. */
const StaleBanner = () => {
  const { downSinceMs } = useReachability();
  const now = useNow();
  if (downSinceMs === undefined) return null;
  return (
    <div className="stale" role="alert">
      <Icon name="warning" /> The gateway has not answered since <Clock at={new Date(downSinceMs).toISOString()} /> (
      {durationText(Math.max(0, now - downSinceMs))}). What is shown is as of then; it is tried again.
    </div>
  );
};
