#include <stdint.h>
#include <stdlib.h>
#include "common/log.h"
#include "common/mem.h"
#include "informer/intake.h"
#include "informer/page.h"
#include "informer/stream.h"
#include "proto/unpack.h"
#include "common/arena.h"
static void touched(void *arg, const struct store_touch *t){(void)arg;(void)t;}
static void obj(void *arg,const struct wire_object *o){intake_put(arg,o);}
static void bad(void *arg,const struct err *e){intake_bad(arg,e);}
static void verify(struct store *s, enum object_kind k){
  size_t pos=0; const struct store_entry *e; struct err err;
  while((e=store_next(s,k,&pos))){ struct arena a={0}; struct unpacked *u=unpack_body(e->body,&err); int rc=-1; if(!u)abort();
    struct object_rack r; struct object_node n; struct object_inventory i; struct object_profile p;
    switch(k){case KIND_RACK: rc=object_rack_unpack(&r,unpacked_root(u),&a,&err);break; case KIND_NODE: rc=object_node_unpack(&n,unpacked_root(u),&a,&err);break; case KIND_INVENTORY: rc=object_inventory_unpack(&i,unpacked_root(u),&a,&err);break; default: rc=object_profile_unpack(&p,unpacked_root(u),&a,&err);}
    if(rc){fprintf(stderr,"%s\n",err.text);abort();} unpacked_free(u); arena_fini(&a);} }
int LLVMFuzzerTestOneInput(const uint8_t *d,size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *d,size_t n){
  static int once; if(!once){ once=1; log_setup("fuzz",0,LOG_ERROR,LOG_JSON);} 
  if(n<2)return 0; enum object_kind k=d[0]&3; int list=d[0]&4; size_t piece=1+(d[1]); d+=2;n-=2;
  struct store *s=store_new(touched,NULL); struct intake in={.r=resource_of(k),.store=s}; struct err err;
  struct page_calls c={obj,bad,&in}; struct page *p=list?page_new(in.r->encoding,&c):NULL; struct stream *st=list?NULL:stream_new(in.r->encoding);
  intake_begin(&in);
  while(n){ size_t m=piece<n?piece:n; char *copy=malloc(m); memcpy(copy,d,m); struct str b={copy,m};
    int end=0;
    if(list) end=page_feed(p,b,&err); else { stream_feed(st,b); struct stream_event e; enum stream_found f; while((f=stream_next(st,&e,&err))!=STREAM_MORE){ if(f==STREAM_BROKEN){end=1;break;} if(f==STREAM_EVENT&&e.type==KUBE_ERROR)break; if(f==STREAM_EVENT){ if(e.type==KUBE_DELETED)intake_remove(&in,&e.object); else if(e.type!=KUBE_BOOKMARK) intake_put(&in,&e.object);} } }
    free(copy); d+=m;n-=m; if(end)break; }
  struct page_end pe; if(p&&page_finish(p,&pe,&err)==0) intake_end(&in);
  verify(s,k); page_free(p); stream_free(st); store_free(s); return 0; }
