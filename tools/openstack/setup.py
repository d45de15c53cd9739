"""Fills a fresh OpenStack: `identity` before the other services start, `project` after. What a test needs is in access.json."""
import json
import sys
import urllib.error
import urllib.request

ACCESS = '/srv/openstack/access.json'
AT = {'identity': 'http://127.0.0.1:5000/v3', 'compute': 'http://127.0.0.1:8774/v2.1', 'image': 'http://127.0.0.1:9292/v2', 'network': 'http://127.0.0.1:9696/v2.0', 'placement': 'http://127.0.0.1:8778'}
PUBLISHED = {'compute': ('nova', 'http://127.0.0.1:8774/v2.1'), 'placement': ('placement', 'http://127.0.0.1:8778'), 'image': ('glance', 'http://127.0.0.1:9292'), 'network': ('neutron', 'http://127.0.0.1:9696')}


def call(method, url, body=None, token=None, kind='application/json'):
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    headers = {'Content-Type': kind}
    if token:
        headers['X-Auth-Token'] = token
    if '8774' in url:
        headers['OpenStack-API-Version'] = 'compute 2.67'
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=120) as answer:
            text = answer.read()
            return (json.loads(text) if text else {}), answer.headers
    except urllib.error.HTTPError as error:
        sys.exit(f'{method} {url}: {error.code} {error.read()[:500]}')


def login(user, project):
    password = {'user': {'name': user, 'domain': {'id': 'default'}, 'password': 'pw'}}
    body = {'auth': {'identity': {'methods': ['password'], 'password': password}, 'scope': {'project': {'name': project, 'domain': {'id': 'default'}}}}}
    answer, headers = call('POST', AT['identity'] + '/auth/tokens', body)
    return headers['X-Subject-Token'], answer['token']


def identity():
    token, _ = login('admin', 'admin')
    make = lambda kind, one: call('POST', f"{AT['identity']}/{kind}s", {kind: one}, token)[0][kind]['id']
    roles = {role['name']: role['id'] for role in call('GET', AT['identity'] + '/roles', token=token)[0]['roles']}
    grant = lambda project, user, role: call('PUT', f"{AT['identity']}/projects/{project}/users/{user}/roles/{roles[role]}", token=token)
    service = make('project', {'name': 'service', 'domain_id': 'default'})
    for name in ('nova', 'placement', 'glance', 'neutron'):
        grant(service, make('user', {'name': name, 'password': 'pw', 'domain_id': 'default'}), 'admin')
    for kind, (name, url) in PUBLISHED.items():
        of = make('service', {'name': name, 'type': kind})
        make('endpoint', {'service_id': of, 'interface': 'public', 'url': url, 'region_id': 'RegionOne'})
    # What a tenant has: the role member, and nothing of an administrator.
    grant(make('project', {'name': 'tenant', 'domain_id': 'default'}), make('user', {'name': 'tenant', 'password': 'pw', 'domain_id': 'default'}), 'member')


def project():
    admin, _ = login('admin', 'admin')
    for name, cpus, ram in (('m1.small', 1, 2048), ('m1.medium', 2, 4096), ('m1.huge', 64, 8 * 1024 * 1024)):
        call('POST', AT['compute'] + '/flavors', {'flavor': {'name': name, 'vcpus': cpus, 'ram': ram, 'disk': 10}}, admin)
    image = {'name': 'debian-12', 'disk_format': 'raw', 'container_format': 'bare', 'visibility': 'public', 'os_distro': 'debian', 'os_version': '12'}
    image = call('POST', AT['image'] + '/images', image, admin)[0]['id']
    call('PUT', f"{AT['image']}/images/{image}/file", b'\0' * 4096, admin, 'application/octet-stream')
    network = {'name': 'external', 'router:external': True, 'provider:network_type': 'local'}
    network = call('POST', AT['network'] + '/networks', {'network': network}, admin)[0]['network']['id']
    subnet = {'network_id': network, 'ip_version': 4, 'cidr': '203.0.113.0/24', 'enable_dhcp': False}
    call('POST', AT['network'] + '/subnets', {'subnet': subnet}, admin)
    tenant, of = login('tenant', 'tenant')
    url = f"{AT['identity']}/users/{of['user']['id']}/application_credentials"
    credential = call('POST', url, {'application_credential': {'name': 'fairlead', 'roles': [{'name': 'member'}]}}, tenant)[0]['application_credential']
    access = {'authUrl': AT['identity'], 'credential': credential['id'], 'secret': credential['secret'], 'project': of['project']['id'], 'region': 'RegionOne'}
    with open(ACCESS, 'w') as file:
        file.write(json.dumps(access) + '\n')


{'identity': identity, 'project': project}[sys.argv[1]]()
