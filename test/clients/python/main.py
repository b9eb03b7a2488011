"""The official Python client: each line of output says whether a claim holds."""
import json
import sys
import threading
from kubernetes import client,config,watch,dynamic
from kubernetes.client.rest import ApiException
cfg=config.new_client_from_config(sys.argv[1])
api=client.CustomObjectsApi(cfg)
G=dict(group='management.gitplane.dev',version='v1',plural='teams')
body={'apiVersion':'management.gitplane.dev/v1','kind':'Team','metadata':{'name':'from-python','labels':{'made':'python'}},'spec':{'displayName':'One'}}
def ok(holds, claim):
    print(json.dumps({"claim": claim} if holds else {"claim": claim, "error": "it does not hold"}), flush=True)
events=[]
w=watch.Watch()
rv=api.list_cluster_custom_object(**G)['metadata']['resourceVersion']
t=threading.Thread(target=lambda:[events.append((e['type'],e['object']['metadata']['name'])) for e in w.stream(api.list_cluster_custom_object,**G,resource_version=rv,timeout_seconds=6)])
t.start()
api.create_cluster_custom_object(**G,body=body)
p=api.patch_cluster_custom_object(**G,name='from-python',body={'spec':{'users':['ada']}})
ok(p['spec']=={'displayName':'One','users':['ada']},'merge patch')
p=api.patch_cluster_custom_object(**G,name='from-python',body=[{'op':'replace','path':'/spec/displayName','value':'Two'}],_content_type='application/json-patch+json')
ok(p['spec']['displayName']=='Two','json patch')
o=api.get_cluster_custom_object(**G,name='from-python'); o['spec']['description']='x'
ok(api.replace_cluster_custom_object(**G,name='from-python',body=o)['metadata']['generation']==4,'replace')
try: o['metadata']['resourceVersion']='1'; api.replace_cluster_custom_object(**G,name='from-python',body=o); ok(False,'conflict')
except ApiException as e: ok(e.status==409,'conflict')
ok(len(api.list_cluster_custom_object(**G,label_selector='made=python')['items'])==1,'selector')
page=api.list_cluster_custom_object(**G,limit=1); ok(page['metadata']['continue']!='','paging')
page=api.list_cluster_custom_object(**G,limit=1,_continue=page['metadata']['continue']); ok(len(page['items'])==1,'next page')
ok(api.get_cluster_custom_object_status(**G,name='from-python')['kind']=='Team','status')
d=dynamic.DynamicClient(cfg)
teams=d.resources.get(api_version='management.gitplane.dev/v1',kind='Team')
r=teams.server_side_apply(body={'apiVersion':'management.gitplane.dev/v1','kind':'Team','metadata':{'name':'from-python'},'spec':{'users':['bob']}},name='from-python',field_manager='python')
ok(sorted(r.spec.users)==['ada','bob'],'server-side apply')
ok([x.metadata.name for x in teams.get(label_selector='made=python').items]==['from-python'],'dynamic list')
rb=client.RbacAuthorizationV1Api(cfg)
rb.create_namespaced_role('apps',client.V1Role(metadata=client.V1ObjectMeta(name='py'),rules=[client.V1PolicyRule(api_groups=['management.gitplane.dev'],resources=['teams'],verbs=['get'])]))
ok(rb.read_namespaced_role('py','apps').rules[0].verbs==['get'],'typed role')
rb.patch_namespaced_role('py','apps',{'metadata':{'labels':{'a':'b'}}}); rb.delete_namespaced_role('py','apps')
ok('default' in [n.metadata.name for n in client.CoreV1Api(cfg).list_namespace().items],'namespaces')
client.CoreV1Api(cfg).list_event_for_all_namespaces()
ok(client.VersionApi(cfg).get_code().major=='1','version')
ok(client.AuthenticationV1Api(cfg).create_self_subject_review(client.V1SelfSubjectReview()).status.user_info.username=='admin','whoami')
rev=client.AuthorizationV1Api(cfg).create_self_subject_access_review(client.V1SelfSubjectAccessReview(spec=client.V1SelfSubjectAccessReviewSpec(resource_attributes=client.V1ResourceAttributes(verb='get',resource='teams',group='management.gitplane.dev'))))
ok(rev.status.allowed,'can-i')
ok(len(client.ApiextensionsV1Api(cfg).list_custom_resource_definition().items)==7,'definitions')
api.delete_cluster_custom_object(**G,name='from-python')
t.join()
ok(events[0]==('ADDED','from-python') and events[-1]==('DELETED','from-python'),'watch')
