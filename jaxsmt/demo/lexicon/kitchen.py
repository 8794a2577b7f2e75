"""The domain of recipes and restaurants."""

from jaxsmt.demo.words import adjectives, compounds, nouns, phrases, verbs

NOUNS = nouns({
    "person": """
        m chef = chef; m serveur = waiter; f serveuse = waitress; m client = customer!; f cliente = customer
        m cuisinier = cook; f cuisinière = cook; m pâtissier = pastry chef; m boulanger = baker
        m apprenti = apprentice
        m hôte = guest; m sommelier = sommelier; f gérante = manager; m gérant = manager; m traiteur = caterer
        m boucher = butcher; f invitée = guest; m plongeur = dishwasher
    """,
    "food fruit ingredient": """
        f pomme = apple; f poire = pear; m citron = lemon; f prune = plum; f pêche = peach; f cerise = cherry
        m abricot = apricot
    """,
    "food vegetable ingredient": """
        f carotte = carrot; m oignon = onion; f tomate = tomato/tomatoes; m haricot = bean; m champignon = mushroom
        f aubergine = aubergine; m poireau/poireaux = leek
        f pomme de terre/pommes de terre = potato/potatoes; m navet = turnip; f courgette = courgette
        m concombre = cucumber
        f gousse d'ail/gousses d'ail = clove of garlic/cloves of garlic
    """,
    "food meat ingredient": """
        m poulet = chicken; m agneau/agneaux = lamb; m canard = duck; m saumon = salmon mass; m filet = fillet!
        m bar = sea bass mass!; f langue = tongue; m onglet = hanger steak!
        f côtelette = chop; f saucisse = sausage; m jambon = ham; m bœuf = beef mass; m veau = veal mass
        m thon = tuna mass; m rôti = roast; m canard sauvage/canards sauvages = wild duck
    """,
    "food seafood ingredient": """
        f coque = cockle!; m homard = lobster; f huître = oyster; f crevette = prawn; f moule = mussel
    """,
    "food liquid ingredient": """
        f sauce = sauce; f crème = cream mass; m bouillon = broth mass; m fond = stock; m lait = milk mass
        f huile = oil mass; m vin = wine mass; m vinaigre = vinegar mass; m jus = juice mass; f eau = water mass
        m sirop = syrup; m coulis = coulis/coulis
    """,
    "whippable": """
        f crème fraîche = fresh cream mass; m blanc d'œuf/blancs d'œufs = egg white; f ganache = ganache mass
    """,
    "food grain ingredient": """
        m pain = bread mass; f farine = flour mass; m riz = rice mass; f pâte = dough mass; f brioche = brioche
    """,
    "food ingredient": """
        m beurre = butter mass; m sucre = sugar mass; m sel = salt mass; m poivre = pepper mass; m œuf = egg
        m fromage = cheese; m persil = parsley mass; f moutarde = mustard mass; m miel = honey mass
        f levure = yeast mass
        m chocolat = chocolate mass; f amande = almond; f épice = spice; f noix = walnut; f feuille = leaf/leaves
    """,
    "food portion": "f barre = bar; f tranche = slice; m quart = quarter!; f moitié = half/halves; f part = portion",
    "waste": "m noyau/noyaux = stone; f coquille = shell; f arête = fish bone; f épluchure = peeling; m pépin = pip",
    "food dish": """
        f entrée = starter; m plat = dish; m dessert = dessert; f soupe = soup; f salade = salad
        m gâteau/gâteaux = cake
        f tarte = tart; f omelette = omelette; f purée = purée; m gratin = gratin; f glace = ice cream!
        f mousse = mousse!
        m ragoût = stew; f crêpe = pancake; m sorbet = sorbet; m repas = meal; f terrine = terrine; f tourte = pie
        f confiture = jam; m sandwich = sandwich; f quiche = quiche
    """,
    "utensil": """
        m couteau/couteaux = knife/knives; f assiette = plate
        f cuillère = spoon; f fourchette = fork; m robot = food processor!; m fouet = whisk; f planche = board
        m verre = glass
        m tablier = apron; m torchon = tea towel; f passoire = colander; m couvercle = lid; f louche = ladle
        m crochet = hook; f nappe = tablecloth; f balance = kitchen scale
    """,
    "utensil pot": """
        f casserole = saucepan; f poêle = frying pan; m bol = bowl; m saladier = salad bowl; f marmite = cooking pot
    """,
    "utensil container": """
        m bac = tub!; m réfrigérateur = refrigerator; m placard = cupboard; m four = oven; m tiroir = drawer
    """,
    "utensil tray": "f grille = rack!; m moule = mould; f plaque = baking tray",
    "part": "m bord = rim; m bouton = knob",
    "thing": """
        f carte = menu; f commande = order!; f addition = bill!; f recette = recipe; f boîte = tin; m paquet = packet
        f table = table; m tableau/tableaux = painting; m journal/journaux = newspaper; f réservation = reservation
        m pourboire = tip; f serviette = napkin; f bougie = candle; m ticket = receipt; f clé = key
    """,
    "place": """
        f pièce = room!;         f cuisine = kitchen!; f cave = cellar; f terrasse = terrace; f salle = dining room
        m restaurant = restaurant
        m bureau/bureaux = office; m marché = market; f boulangerie = bakery; m comptoir = counter; f place = seat
        m jardin = garden; m garde-manger/garde-manger = larder
    """,
    "event": """
        m dîner = dinner; m déjeuner = lunch; f cuisson = cooking time; m service = service; f dégustation = tasting
    """,
}) + compounds(
    "food dish",
    "f soupe = soup; f purée = purée; f salade = salad; f tarte = tart",
    "carottes = carrot; tomates = tomato; poireaux = leek; légumes = vegetable; champignons = mushroom",
)  # fmt: skip

ADJECTIVES = adjectives({
    "vegetable fruit meat seafood": "frais/fraîche = fresh!; cru = raw; surgelé = frozen",
    "food": "délicieux = delicious; biologique = organic",
    "dish liquid": "chaud = hot; froid = cold; tiède = lukewarm",
    "dish": """
        sucré = sweet; salé = salty; épicé = spicy; léger/légère = light; traditionnel = traditional
        amer/amère = bitter
    """,
    "meat": "gras/grasse = fatty; tendre = tender; fumé = smoked; grillé = grilled; saignant = rare",
    "vegetable fruit": "mûr = ripe; rouge = red; vert = green; juteux = juicy; épluché = peeled",
    "grain": "complet = wholemeal; croustillant = crusty",
    "utensil": "tranchant = sharp; profond = deep; rond = round; brûlant = hot; creux/creuse = hollow",
    "liquid": "épais/épaisse = thick; clair = clear; onctueux = smooth; bouillant = boiling",
    "place": "tranquille = quiet; bruyant = noisy; ensoleillé = sunny",
})  # fmt: skip

TRANSITIVE = verbs("""
    fermer = close : place container; ouvrir = open : place container
    éplucher = peel : vegetable fruit; couper = cut! : vegetable fruit meat; hacher = chop : vegetable
    mélanger = mix : ingredient
    goûter = taste : dish liquid grain; servir = serve : dish meat seafood portion; réchauffer = reheat : dish liquid
    verser = pour : liquid
    ajouter = add : ingredient; laver = wash : vegetable fruit seafood utensil; essuyer = wipe : utensil part
    saisir = sear : meat
    monter = whip! : whippable; réduire = reduce : liquid; griller = grill : meat vegetable
    congeler = freeze : dish meat
    couvrir = cover : dish; remuer = stir : liquid; remplir = fill : pot container; vider = empty : pot container
    supprimer = remove : dish thing; commander = order : dish; recommander = recommend : dish
    décorer = decorate : dish; assaisonner = season : dish meat; peser = weigh : ingredient
    surveiller = watch : liquid dish
    découper = carve : meat; manger = eat : dish meat seafood fruit grain; jeter = throw ~away : waste
    ramasser = pick ~up : waste utensil thing
    retirer = remove : waste; rincer = rinse : vegetable utensil; nettoyer = clean : utensil place part
    sécher = dry : utensil; mariner = marinate : meat; râper = grate : vegetable; partager = share : dish portion
    cuire = cook : meat seafood vegetable; rôtir = roast : meat; réserver = set ~aside : ingredient
""")  # fmt: skip
INTRANSITIVE = verbs("""
    cuire = cook : meat vegetable; bouillir = boil : liquid; brûler = burn : dish meat; refroidir = cool : dish liquid
    épaissir = thicken : liquid; fumer = smoke : pot; manger = eat : person; cuisiner = cook : person
""", is_transitive=False)  # fmt: skip
PLACES = phrases("""
    dans la cuisine = in the kitchen; dans le four = in the oven; sur la table = on the table
    au marché = at the market
    dans un grand bol = in a large bowl; à la terrasse = on the terrace; sur la grille = on the rack
    dans la cave = in the cellar; au comptoir = at the counter; dans une poêle = in a frying pan
    derrière la porte = behind the door; près du four = near the oven; dans le bac = in the tub
""")  # fmt: skip
RELATIONS = nouns({
    "dish meat": "m goût = taste; m prix/prix = price; f odeur = smell; f cuisson = cooking",
    "liquid": "f couleur = colour; f température = temperature; m goût = taste",
    "thing utensil": "m prix/prix = price; f couleur = colour; f forme = shape",
    "place": "f porte = door; m toit = roof; f lumière = light; f propreté = cleanliness",
})  # fmt: skip
FRAMES = phrases("""
    Je voudrais {a1:dish} , s'il vous plaît . = I would like {a1:dish} , please .
    Faites cuire {the:seafood} pendant {num} minutes . = Cook {the:seafood} for {num} minutes .
    Laissez refroidir {the1:dish} avant de {inf} . = Let {the1:dish} cool before you {inf} .
    Ajoutez {some:ingredient} et {some:ingredient#2} . = Add {some:ingredient} and {some:ingredient#2} .
    Mélangez {the:ingredient} avec {some:liquid} . = Mix {the:ingredient} with {some:liquid} .
    Faites chauffer {some:liquid} dans {a1:pot} . = Heat {some:liquid} in {a1:pot} .
    Préchauffez le four , puis préparez {the:dish} . = Preheat the oven , then prepare {the:dish} .
    Avec {the1:meat} , je vous conseille {a1:dish} . = With {the1:meat} , I recommend {a1:dish} .
    Retirez {the:food} du feu après {num} minutes . = Remove {the:food} from the heat after {num} minutes .
    Nous avons besoin de {num} {bares:pot} pour {inf} . = We need {num} {bares:pot} to {inf} .
    Comme dessert , nous avons {a1:dish} et {a1:dish#2} . = For dessert , we have {a1:dish} and {a1:dish#2} .
    Il reste {num} places à la terrasse . = There are {num} seats left on the terrace .
    Pour {inf} , utilisez {a1:utensil} . = To {inf} , use {a1:utensil} .
    Il faut {num} {bares:vegetable} et {some:ingredient} . = You need {num} {bares:vegetable} and {some:ingredient} .
    L'addition , s'il vous plaît : nous avons pris {num} {bares:dish} . = The bill , please: we had {num} {bares:dish} .
    Servez {the1:dish} avec {the:grain} . = Serve {the1:dish} with {the:grain} .
    Utilisez {the:grain} pour {inf} . = Use {the:grain} to {inf} .
    Je préfère du pain complet avec {the1:dish} . = I prefer some wholemeal bread with {the1:dish} .
    Prenez de la farine complète pour {inf} . = Take some wholemeal flour to {inf} .
    Ajoutez {num} feuilles et {some:liquid} . = Add {num} leaves and {some:liquid} .
    Faites fondre {num} barres de chocolat avec {some:liquid} . = Melt {num} bars of chocolate with {some:liquid} .
    Tournez le bouton du four avant de {inf} . = Turn the oven knob before you {inf} .
    Coupez {the:vegetable} en petits morceaux . = Cut {the:vegetable} into small pieces .
""")  # fmt: skip
VISITORS = """
    ordinateur imprimante fichier courriel écran clavier application  logiciel technicien
    capitaine train passager passeport valise billet marin bateau voyage gare île quai
    compatible gratuit rapide
    imprimer réparer télécharger  transporter
"""
